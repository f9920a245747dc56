"""Luong attention: what goes wrong with the centres, the Gaussian and the weights of a window."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Centre = Callable[[Tensor, Tensor, int], Tensor]
Bell = Callable[[Tensor, int], Tensor]
Weigh = Callable[[Tensor, Tensor, Tensor], Tensor]
Place = Callable[[Tensor], Tensor]


def softmax_inside(e: Tensor, outside: Tensor) -> Tensor:
    """Weights of the scores that are not outside."""
    return e.masked_fill(outside, -torch.inf).softmax(1)


CENTRES: dict[str, Centre] = {
    "the centres lie between 0 and 1; multiply by the number of source words.": (
        lambda x, v, src: torch.sigmoid(torch.tanh(x) @ v)
    ),
    "the centres are counted in target words; multiply by the number of source words.": (
        lambda x, v, src: len(x) * torch.sigmoid(torch.tanh(x) @ v)
    ),
    "the centres are rounded; they may lie between two words.": (
        lambda x, v, src: (src * torch.sigmoid(torch.tanh(x) @ v)).round()
    ),
    "the centres have lost their decimals; they may lie between two words.": (
        lambda x, v, src: (src * torch.sigmoid(torch.tanh(x) @ v)).floor()
    ),
    "tanh is missing in the centres.": lambda x, v, src: src * torch.sigmoid(x @ v),
    "in the centres, tanh comes before v: it squeezes each unit, not their sum.": (
        lambda x, v, src: src * torch.sigmoid(torch.tanh(x @ v))
    ),
    "the sigmoid is missing in the centres.": lambda x, v, src: src * (torch.tanh(x) @ v),
    "the largest centre is src − 1; multiply by the number of source words.": (
        lambda x, v, src: (src - 1) * torch.sigmoid(torch.tanh(x) @ v)
    ),
    "the centres go from 1 on; they are S times the sigmoid, and nothing is added.": (
        lambda x, v, src: 1 + (src - 1) * torch.sigmoid(torch.tanh(x) @ v)
    ),
    "the centres are one word too far.": (
        lambda x, v, src: 1 + src * torch.sigmoid(torch.tanh(x) @ v)
    ),
    "the centres come from a tanh in the end; a sigmoid keeps them above 0.": (
        lambda x, v, src: src * torch.tanh(torch.tanh(x) @ v)
    ),
    "the centres come from a softmax over the steps; every step has a sigmoid of its own.": (
        lambda x, v, src: src * (torch.tanh(x) @ v).softmax(0)
    ),
}

DISTANCES: dict[str, Callable[[Tensor], Tensor]] = {
    "": torch.square,
    "the distance is not squared; ": torch.abs,
    "the distance is not squared and keeps its sign; ": lambda x: x,
}

DIVISORS: dict[str, Callable[[float], float]] = {
    "2σ²": lambda σ: 2 * σ**2,
    "σ²; the 2 is missing": lambda σ: σ**2,
    "2σ; σ is not squared": lambda σ: 2 * σ,
    "σ; it is not squared, and the 2 is missing": lambda σ: σ,
    "2D², as if σ were D": lambda σ: 8 * σ**2,
    "(2σ)²; the 2 is not squared": lambda σ: 4 * σ**2,
    "2 (2D)²; σ is D / 2, not 2D": lambda σ: 32 * σ**2,
    "2, and is multiplied by σ²; put brackets around the divisor": lambda σ: 2 / σ**2,
    "2; σ is missing": lambda σ: 2,
}


def _bell(square: Callable[[Tensor], Tensor], divisor: Callable[[float], float]) -> Bell:
    return lambda x, D: torch.exp(-square(x) / divisor(D / 2))


BELLS: dict[str, Bell] = {
    **{
        f"{squared}this Gaussian divides by {name}.": _bell(square, divisor)
        for squared, square in DISTANCES.items()
        for name, divisor in DIVISORS.items()
        if squared or name != "2σ²"
    },
    "the Gaussian is missing.": lambda x, D: torch.ones_like(x),
    "the Gaussian grows with the distance: the minus is missing.": (
        lambda x, D: torch.exp(2 * x**2 / D**2)
    ),
    "the Gaussian is a density here; its peak should be 1.": (
        lambda x, D: torch.exp(-2 * x**2 / D**2) / (D * math.sqrt(math.pi / 2))
    ),
    "the weights are multiplied by the exponent; take its exponential first.": (
        lambda x, D: -2 * x**2 / D**2
    ),
}

WEIGHTS: dict[str, Weigh] = {
    "the window is missing: words that are farther than D away get weight.": (
        lambda e, outside, bell: e.softmax(1) * bell
    ),
    "the window is cut after the softmax; it shares out 1 within the window.": (
        lambda e, outside, bell: e.softmax(1) * ~outside * bell
    ),
    "a score of 0 outside the window is not a weight of 0, for e⁰ = 1.": (
        lambda e, outside, bell: (e * ~outside).softmax(1) * bell
    ),
    "the window is turned inside out.": lambda e, outside, bell: softmax_inside(e, ~outside) * bell,
    "the softmax goes over the target; each step shares out 1 among the words.": (
        lambda e, outside, bell: e.softmax(0) * ~outside * bell
    ),
    "the softmax is missing: these are scores, times the Gaussian.": (
        lambda e, outside, bell: e * ~outside * bell
    ),
    "the Gaussian multiplies the scores; it should multiply the weights.": (
        lambda e, outside, bell: softmax_inside(e * bell, outside)
    ),
    "the window is missing, and the Gaussian multiplies the scores, not the weights.": (
        lambda e, outside, bell: (e * bell).softmax(1)
    ),
    "the window is missing, and each row sums to 1; the Gaussian comes after the softmax.": (
        lambda e, outside, bell: (e + bell.log()).softmax(1)
    ),
    "window and softmax are missing: these are scores, times the Gaussian.": (
        lambda e, outside, bell: e * bell
    ),
    "the softmax goes over the target; where a column has no window, it is nan.": (
        lambda e, outside, bell: e.masked_fill(outside, -torch.inf).softmax(0) * bell
    ),
    "the Gaussian is added to the scores; it should multiply the weights.": (
        lambda e, outside, bell: softmax_inside(e + bell, outside)
    ),
    "the Gaussian is added to the weights; it should multiply them.": (
        lambda e, outside, bell: softmax_inside(e, outside) + bell
    ),
    "the Gaussian alone makes these weights; the scores are not used.": (
        lambda e, outside, bell: bell * ~outside
    ),
    "each row sums to 1; the Gaussian comes after the softmax, and nothing is divided again.": (
        lambda e, outside, bell: softmax_inside(e + bell.log(), outside)
    ),
}

AROUND: dict[str, Place] = {
    "the rounded centre": torch.round,
    "the centre without its decimals": torch.floor,
    "place t": lambda p: torch.arange(1, len(p) + 1),
}

ONE_FURTHER: dict[str, Place] = {"p_t + 1, as if the words were counted from 0": lambda p: p + 1}

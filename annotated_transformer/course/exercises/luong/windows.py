"""Luong attention: local attention, which looks through a window."""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.comparing import is_number
from annotated_transformer.course.exercises.cases import normal
from annotated_transformer.course.questions import Question, by_number
from annotated_transformer.toy import toy_corpus


@functools.cache
def _distances() -> list[int]:
    """How far to the right of the target position each gold link ends, in 400 pairs."""
    pairs = toy_corpus(pairs=400)["train"]
    return [source - target for pair in pairs for source, target in pair.alignment]


def _share(D: int) -> float:
    """The share of the links that are no farther away than D."""
    return sum(abs(distance) <= D for distance in _distances()) / len(_distances())


def _narrowest(distance: Callable[[int], float], share: float = 0.9) -> int:
    """The smallest D so that a share of the links is no farther away."""
    distances = sorted(map(distance, _distances()))
    return next(D for D in range(40) if sum(x <= D for x in distances) >= share * len(distances))


@Question
def narrowest_window(answer: Any) -> str:
    """How wide a window around position t holds 90 % of the gold links?"""
    right = _narrowest(abs)
    if is_number(answer) and (0 < answer < 1 or 40 <= answer <= 100):
        return "this is a share of the links; D is a whole number of words."
    return by_number(
        answer,
        right,
        {
            **{
                D: f"with D = {D} the windows hold {100 * _share(D):.1f} % of the links"
                + (", which is too few." if right > D else "; a smaller D holds 90 %, too.")
                for D in range(40)
            },
            2 * right + 1: "this is the whole window; D counts the words to one side of t.",
            2 * right: "this is the whole window without t; D counts the words to one side.",
            right + 1: "this is one too many; a word exactly D places away is inside.",
            _narrowest(abs, 1.0): "these windows hold all links; 90 % of them are asked for.",
            _narrowest(lambda x: x): "links to the left of t have a distance, too; take abs.",
            _narrowest(abs, 0.5): "this is a window for half of the links.",
        },
    )


def _local_attention(
    states: Float[Tensor, "tgt d"],
    memory: Float[Tensor, "src d"],
    W_p: Float[Tensor, "d_p d"],
    v_p: Float[Tensor, " d_p"],
    D: int,
) -> tuple[Float[Tensor, " tgt"], Float[Tensor, "tgt src"]]:
    """Local attention: where each step looks, and its weights."""
    centre = len(memory) * torch.sigmoid(torch.tanh(states @ W_p.mT) @ v_p)
    distance = torch.arange(1, len(memory) + 1) - centre.unsqueeze(1)
    scores = (states @ memory.mT).masked_fill(distance.abs() > D, -torch.inf)
    return centre, scores.softmax(dim=1) * torch.exp(-2 * distance**2 / D**2)


def _inside(e: Tensor, outside: Tensor) -> Tensor:
    return e.masked_fill(outside, -torch.inf).softmax(1)


Centre = Callable[[Tensor, Tensor, int], Tensor]
Bell = Callable[[Tensor, int], Tensor]
Weigh = Callable[[Tensor, Tensor, Tensor], Tensor]
Place = Callable[[Tensor], Tensor]


def _wrong(
    centre: Centre = lambda x, v, src: src * torch.sigmoid(torch.tanh(x) @ v),
    bell: Bell = lambda x, D: torch.exp(-2 * x**2 / D**2),
    weigh: Weigh = lambda e, outside, bell: _inside(e, outside) * bell,
    window_at: Place = lambda p: p,
    bell_at: Place = lambda p: p,
    first: int = 1,
    reach: float = 1.0,
) -> Callable[..., tuple[Tensor, Tensor]]:
    """Local attention in which one of the steps is another."""

    def attend(
        states: Tensor, memory: Tensor, W_p: Tensor, v_p: Tensor, D: int
    ) -> tuple[Tensor, Tensor]:
        p, words = centre(states @ W_p.mT, v_p, len(memory)), torch.arange(len(memory)) + first
        outside = (words - window_at(p)[:, None]).abs() > reach * D
        gaussian = bell(words - bell_at(p)[:, None], D)
        return p, weigh(states @ memory.mT, outside, gaussian)

    return attend


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

BELLS: dict[str, Bell] = {
    "the Gaussian is missing.": lambda x, D: torch.ones_like(x),
    "this Gaussian is twice as wide: σ is D / 2.": lambda x, D: torch.exp(-(x**2) / (2 * D**2)),
    "the 2 below the fraction is missing: divide by 2σ².": lambda x, D: torch.exp(-4 * x**2 / D**2),
    "this divides by 2 and multiplies by σ²; put brackets around the whole divisor.": (
        lambda x, D: torch.exp(-(x**2) / 2 * (D / 2) ** 2)
    ),
    "the distance is not squared.": lambda x, D: torch.exp(-2 * x.abs() / D**2),
    "the distance is not squared, and keeps its sign: words on the left gain.": (
        lambda x, D: torch.exp(-2 * x / D**2)
    ),
    "σ is not squared: this divides by 2σ, not by 2σ².": lambda x, D: torch.exp(-(x**2) / D),
    "this divides by D, not by D²: σ itself is squared.": lambda x, D: torch.exp(-2 * x**2 / D),
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
    "the window is turned inside out.": lambda e, outside, bell: _inside(e, ~outside) * bell,
    "the softmax goes over the target; each step shares out 1 among the words.": (
        lambda e, outside, bell: e.softmax(0) * ~outside * bell
    ),
    "the softmax is missing: these are scores, times the Gaussian.": (
        lambda e, outside, bell: e * ~outside * bell
    ),
    "the Gaussian multiplies the scores; it should multiply the weights.": (
        lambda e, outside, bell: _inside(e * bell, outside)
    ),
    "the Gaussian is added to the scores; it should multiply the weights.": (
        lambda e, outside, bell: _inside(e + bell, outside)
    ),
    "the Gaussian is added to the weights; it should multiply them.": (
        lambda e, outside, bell: _inside(e, outside) + bell
    ),
    "the Gaussian alone makes these weights; the scores are not used.": (
        lambda e, outside, bell: bell * ~outside
    ),
    "each row sums to 1; the Gaussian comes after the softmax, and nothing is divided again.": (
        lambda e, outside, bell: _inside(e + bell.log(), outside)
    ),
}

AROUND: dict[str, Place] = {
    "the rounded centre": torch.round,
    "the centre without its decimals": torch.floor,
    "place t": lambda p: torch.arange(1, len(p) + 1),
}


local_attention = Exercise(
    reference=_local_attention,
    mistakes={
        "the words are counted from 0; here the first one has number 1.": _wrong(first=0),
        **{sentence: _wrong(centre) for sentence, centre in CENTRES.items()},
        **{sentence: _wrong(bell=bell) for sentence, bell in BELLS.items()},
        **{sentence: _wrong(weigh=weigh) for sentence, weigh in WEIGHTS.items()},
        **{
            f"the window lies around {name}, not around p_t.": _wrong(window_at=place)
            for name, place in AROUND.items()
        },
        **{
            f"the Gaussian lies around {name}, not around p_t.": _wrong(bell_at=place)
            for name, place in AROUND.items()
        },
        **{
            f"window and Gaussian lie around {name}, not around p_t.": (
                _wrong(window_at=place, bell_at=place)
            )
            for name, place in AROUND.items()
        },
        "this window is half as wide: it reaches D words to each side.": _wrong(reach=0.5),
        "this window is twice as wide: it reaches D words to each side.": _wrong(reach=2.0),
        "the scores are divided by √d; the dot score is not (the Transformer's will be).": (
            lambda s, h, *given: _wrong()(s, h / h.size(1) ** 0.5, *given)
        ),
        "these are the contexts in place of the weights.": (
            lambda s, h, *given: (_wrong()(s, h, *given)[0], _wrong()(s, h, *given)[1] @ h)
        ),
    },
    cases=[
        (normal(2, 3, seed=0), normal(5, 3, seed=1), normal(4, 3, seed=2), normal(4, seed=3), 1),
        (*(normal(*n, seed=n[0]).float() for n in ((3, 4), (9, 4), (5, 4), (5,))), 3),
        (normal(4, 2, seed=4), normal(8, 2, seed=5), normal(3, 2, seed=6), normal(3, seed=7), 2),
    ],
)

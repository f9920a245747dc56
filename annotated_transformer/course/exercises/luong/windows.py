"""Luong attention: local attention, which looks through a window."""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal
from annotated_transformer.course.questions import Question, by_number
from annotated_transformer.toy import toy_corpus


@functools.cache
def _distances() -> list[int]:
    """How far to the right of the target position each gold link ends, in 400 pairs."""
    pairs = toy_corpus(pairs=400)["train"]
    return [source - target for pair in pairs for source, target in pair.alignment]


def _narrowest(distance: Callable[[int], float], share: float = 0.9) -> int:
    """The smallest D so that a share of the links is no farther away."""
    distances = sorted(map(distance, _distances()))
    return next(D for D in range(40) if sum(x <= D for x in distances) >= share * len(distances))


@Question
def narrowest_window(answer: Any) -> str:
    """How wide a window around position t holds 90 % of the gold links?"""
    right = _narrowest(abs)
    return by_number(
        answer,
        right,
        {
            2 * right + 1: "this is the whole window; D counts the words to one side of t.",
            right + 1: "this is one too many; a word exactly D places away is inside.",
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


def _wrong(
    centre: Callable[[Tensor, Tensor, int], Tensor] = lambda x, v, src: (
        src * torch.sigmoid(torch.tanh(x) @ v)
    ),
    bell: Callable[[Tensor, int], Tensor] = lambda x, D: torch.exp(-2 * x**2 / D**2),
    weigh: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda e, outside, bell: (
        _inside(e, outside) * bell
    ),
    first: int = 1,
    reach: float = 1.0,
) -> Callable[..., tuple[Tensor, Tensor]]:
    """Local attention in which one of the steps is another."""

    def attend(
        states: Tensor, memory: Tensor, W_p: Tensor, v_p: Tensor, D: int
    ) -> tuple[Tensor, Tensor]:
        p = centre(states @ W_p.mT, v_p, len(memory))
        x = torch.arange(first, len(memory) + first) - p[:, None]
        return p, weigh(states @ memory.mT, x.abs() > reach * D, bell(x, D))

    return attend


local_attention = Exercise(
    reference=_local_attention,
    mistakes={
        "the words are counted from 0; here the first one has number 1.": _wrong(first=0),
        "the window is missing: words that are farther than D away get weight.": (
            _wrong(weigh=lambda e, outside, bell: e.softmax(1) * bell)
        ),
        "the window is cut after the softmax; it shares out 1 within the window.": (
            _wrong(weigh=lambda e, outside, bell: e.softmax(1) * ~outside * bell)
        ),
        "a score of 0 outside the window is not a weight of 0, for e⁰ = 1.": (
            _wrong(weigh=lambda e, outside, bell: (e * ~outside).softmax(1) * bell)
        ),
        "the window is turned inside out.": (
            _wrong(weigh=lambda e, outside, bell: _inside(e, ~outside) * bell)
        ),
        "the softmax goes over the target; each step shares out 1 among the words.": (
            _wrong(weigh=lambda e, outside, bell: e.softmax(0) * ~outside * bell)
        ),
        "the Gaussian multiplies the scores; it should multiply the weights.": (
            _wrong(weigh=lambda e, outside, bell: _inside(e * bell, outside))
        ),
        "each row sums to 1; the Gaussian comes after the softmax, and nothing is divided again.": (
            _wrong(weigh=lambda e, outside, bell: _inside(e + bell.log(), outside))
        ),
        "the Gaussian is missing.": _wrong(bell=lambda x, D: torch.ones_like(x)),
        "this Gaussian is twice as wide: σ is D / 2.": (
            _wrong(bell=lambda x, D: torch.exp(-(x**2) / (2 * D**2)))
        ),
        "the 2 below the fraction is missing: divide by 2σ².": (
            _wrong(bell=lambda x, D: torch.exp(-4 * x**2 / D**2))
        ),
        "this divides by 2 and multiplies by σ²; put brackets around the whole divisor.": (
            _wrong(bell=lambda x, D: torch.exp(-(x**2) / 2 * (D / 2) ** 2))
        ),
        "the distance is not squared.": _wrong(bell=lambda x, D: torch.exp(-2 * x.abs() / D**2)),
        "the centres lie between 0 and 1; multiply by the number of source words.": (
            _wrong(lambda x, v, src: torch.sigmoid(torch.tanh(x) @ v))
        ),
        "the centres are counted in target words; multiply by the number of source words.": (
            _wrong(lambda x, v, src: len(x) * torch.sigmoid(torch.tanh(x) @ v))
        ),
        "the centres are rounded; they may lie between two words.": (
            _wrong(lambda x, v, src: (src * torch.sigmoid(torch.tanh(x) @ v)).round())
        ),
        "tanh is missing in the centres.": _wrong(lambda x, v, src: src * torch.sigmoid(x @ v)),
        "this window is half as wide: it reaches D words to each side.": _wrong(reach=0.5),
        "this window is twice as wide: it reaches D words to each side.": _wrong(reach=2.0),
        "this divides by D, not by D²: σ itself is squared.": (
            _wrong(bell=lambda x, D: torch.exp(-2 * x**2 / D))
        ),
        "the Gaussian grows with the distance: the minus is missing.": (
            _wrong(bell=lambda x, D: torch.exp(2 * x**2 / D**2))
        ),
        "the largest centre is src − 1; multiply by the number of source words.": (
            _wrong(lambda x, v, src: (src - 1) * torch.sigmoid(torch.tanh(x) @ v))
        ),
        "the centres are one word too far.": (
            _wrong(lambda x, v, src: 1 + src * torch.sigmoid(torch.tanh(x) @ v))
        ),
        "the centres come from a tanh in the end; a sigmoid keeps them above 0.": (
            _wrong(lambda x, v, src: src * torch.tanh(torch.tanh(x) @ v))
        ),
        "the Gaussian is a density here; its peak should be 1.": (
            _wrong(bell=lambda x, D: torch.exp(-2 * x**2 / D**2) / (D * math.sqrt(math.pi / 2)))
        ),
    },
    cases=[
        (normal(2, 3, seed=0), normal(5, 3, seed=1), normal(4, 3, seed=2), normal(4, seed=3), 1),
        (*(normal(*n, seed=n[0]).float() for n in ((3, 4), (9, 4), (5, 4), (5,))), 3),
        (normal(4, 2, seed=4), normal(8, 2, seed=5), normal(3, 2, seed=6), normal(3, seed=7), 2),
    ],
)

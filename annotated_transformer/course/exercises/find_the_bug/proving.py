"""Find the bug: how much a test shows that was passed."""

from functools import cache
from math import log
from typing import Any

import torch

from annotated_transformer.course.checking import Derivation
from annotated_transformer.course.exercises.cases import normal
from annotated_transformer.course.questions import Question, by_number

WIDTHS = [2**i for i in range(3, 11)]


@cache
def _within_a_hundredth(d: int) -> bool:
    """Whether a test with that tolerance passes a normalisation by the unbiased deviation."""
    x = normal(10, d, seed=d)
    centred = x - x.mean(-1, keepdim=True)
    right, faulty = (centred / x.std(-1, keepdim=True, correction=c) for c in (0, 1))
    return torch.allclose(faulty, right, rtol=0.01, atol=0)


@Question
def too_wide_to_see(answer: Any) -> str:
    """From which width on does a tolerance of one per cent hide the unbiased deviation?"""
    first = next(d for d in WIDTHS if _within_a_hundredth(d))
    replies = {
        d: "it is passed there, and in a narrower model, too."
        if _within_a_hundredth(d)
        else f"with d = {d} the test still finds the mistake."
        for d in WIDTHS
        if d != first
    }
    return by_number(answer, first, replies)


def _what_a_pass_shows(p: float, n: int) -> tuple[float, float, float, float]:
    """How much do n random sentences show on which nothing was found?"""
    return 1 - p, (1 - p) ** n, log(1 / 20) / log(1 - p), 1 - (1 / 20) ** (1 / n)


what_a_pass_shows = Derivation(
    reference=_what_a_pass_shows,
    mistakes={
        "the chances of n sentences are multiplied: n times p is the mean number of finds.": (
            lambda p, n: (1 - p, 1 - n * p, (1 - 1 / 20) / p, (1 - 1 / 20) / n)
        ),
        "1/20 is the chance to miss the mistake; in steps 3 and 4 it is that to find it.": (
            lambda p, n: (
                *_what_a_pass_shows(p, n)[:2],
                log(0.95) / log(1 - p),
                1 - 0.95 ** (1 / n),
            )
        ),
    },
    cases=[(0.5, 3), (0.1, 20), (0.02, 100), (0.3, 8)],
)

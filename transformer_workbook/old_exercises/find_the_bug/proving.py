"""Find the bug: how much a test shows that was passed."""

from collections.abc import Callable
from functools import cache
from math import log
from typing import Any

import torch

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.comparing import is_number
from transformer_workbook.judge.exercises import Derivation
from transformer_workbook.old_exercises.old_question import Question, by_number

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
    if is_number(answer) and answer not in WIDTHS:
        return (
            f"this is none of the widths to try, {WIDTHS[0]}, {WIDTHS[1]}, {WIDTHS[2]} and so on."
        )
    return by_number(answer, first, replies)


def _what_a_pass_shows(p: float, n: int) -> tuple[float, float, float, float]:
    """How much do n random sentences show on which nothing was found?"""
    return 1 - p, (1 - p) ** n, log(1 / 20) / log(1 - p), 1 - (1 / 20) ** (1 / n)


Step = Callable[[float, int], float]


def _but(number: int, other: Step) -> Callable[[float, int], tuple[float, ...]]:
    """The same, with another result of one step."""

    def steps(p: float, n: int) -> tuple[float, ...]:
        right = _what_a_pass_shows(p, n)
        return *right[: number - 1], other(p, n), *right[number:]

    return steps


OTHER_STEPS: dict[tuple[int, str], Step] = {
    (1, "this is how likely one sentence finds it, not misses it."): lambda p, n: p,
    (2, "this is n(1 - p); chances of independent draws are multiplied."): lambda p, n: n * (1 - p),
    (2, "this is how likely one of n or more finds it, not that all miss it."): (
        lambda p, n: 1 - (1 - p) ** n
    ),
    (2, "this is how likely all n find it."): lambda p, n: p**n,
    (2, "this is how likely not all n find it."): lambda p, n: 1 - p**n,
    (3, "the logarithm of p stands in the place of that of 1 - p."): (
        lambda p, n: log(1 / 20) / log(p)
    ),
    (3, "numerator and denominator are exchanged."): lambda p, n: log(1 - p) / log(1 / 20),
    (3, "this is 3/p, which is only near it."): lambda p, n: 3 / p,
    (3, "this is ln 20 / p, which is only near it."): lambda p, n: log(20) / p,
    (3, "the logarithms are subtracted; divide them."): lambda p, n: log(1 / 20) - log(1 - p),
    (3, "there is no logarithm: (1/20)/(1 - p) solves a product, not a power."): (
        lambda p, n: 1 / 20 / (1 - p)
    ),
    (3, "this is 1/(20p): n times p is not the chance that all miss."): lambda p, n: 1 / 20 / p,
    (3, "19/20 stands in the place of 1/20."): lambda p, n: log(19 / 20) / log(1 - p),
    (3, "this is ln 20 alone; divide by the logarithm of 1 - p, without its sign."): (
        lambda p, n: log(20) + 0 * p
    ),
    (4, "this is how likely one sentence misses, 1 - p; p is asked for."): (
        lambda p, n: (1 / 20) ** (1 / n)
    ),
    (4, "this is 3/n, which is only near it."): lambda p, n: 3 / n,
    (4, "this is ln 20 / n, which is only near it."): lambda p, n: log(20) / n,
    (4, "the power is n; the n-th root is asked for."): lambda p, n: 1 - (1 / 20) ** n,
    (4, "this is 1/(20n); the n-th root is asked for."): lambda p, n: 1 / 20 / n,
    (4, "this is 1 - 1/(20n); the n-th root is asked for."): lambda p, n: 1 - 1 / 20 / n,
    (4, "19/20 stands in the place of 1/20."): lambda p, n: 1 - (19 / 20) ** (1 / n),
    (4, "this is the root of 19/20 itself."): lambda p, n: (19 / 20) ** (1 / n),
}
"""What may stand in the place of a step."""

what_a_pass_shows = Derivation(
    reference=_what_a_pass_shows,
    given={
        "the chances of n sentences are multiplied: n times p is the mean number of finds.": (
            lambda p, n: (1 - p, 1 - n * p, (1 - 1 / 20) / p, (1 - 1 / 20) / n)
        ),
        **{f"step {i}: {sentence}": _but(i, other) for (i, sentence), other in OTHER_STEPS.items()},
    },
    cases=[(0.5, 3), (0.1, 20), (0.02, 100), (0.3, 8)],
)

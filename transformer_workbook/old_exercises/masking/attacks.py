"""Masking: bugs that are made to get past some tests."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.comparing import difference, equal
from transformer_workbook.judge.trials import attempt
from transformer_workbook.old_exercises.masking.causal import _causal_attention
from transformer_workbook.old_exercises.old_question import Question

Case = tuple[Tensor, Tensor, Tensor]


def _words(*shape: int, seed: int, width: int = 4, value_width: int = 4) -> Case:
    """Queries and keys of some width, and values of another or the same."""
    sizes = (*shape, width), (*shape, width), (*shape, value_width)
    query, key, value = (normal(*size, seed=seed + i) for i, size in enumerate(sizes))
    return query, key, value


FOUR = _words(4, seed=0)


def _other_last_word() -> Case:
    query, key, value = (x.clone() for x in FOUR)
    query[-1], key[-1], value[-1] = -query[-1], 2 - key[-1], 5 - value[-1]
    return query, key, value


def _long_queries() -> Case:
    query, key, value = _words(6, seed=50)
    return 1e10 * query, key, value


def _opposite_queries() -> Case:
    """Queries that look away from the key of their own place: the first sees only that one."""
    _, key, value = _words(6, seed=55)
    return -1e10 * key, key, value


def _narrow() -> Case:
    query, key, value = _words(5, seed=65)
    return query.float(), key.float(), value.float()


def _failed(attention: Any) -> str:
    """Which of the five tests a function fails first, and how."""
    query, key, value = FOUR
    cases = [FOUR, (query, key, torch.ones_like(value)), _other_last_word()]
    outs = [attempt(attention, case).result for case in cases]
    for out in outs:
        if not isinstance(out, Tensor) or out.shape != value.shape:
            return f"test A catches it: {difference(out, value)}"
    plain, ones, other = outs
    pytorchs = F.scaled_dot_product_attention(*FOUR)
    tests = {
        "B": (ones, torch.ones_like(value)),
        "C": (plain[0], value[0]),
        "D": (other[:-1], plain[:-1]),
        "E": (plain[-1], pytorchs[-1]),
    }
    failed = (letter for letter, (got, want) in tests.items() if not equal(got, want))
    return next(
        (f"test {letter} catches it: {difference(*tests[letter])}" for letter in failed), ""
    )


PROBES: dict[str, Case] = {
    "the four words of the tests": FOUR,
    "seven words": _words(7, seed=10),
    "one word": _words(1, seed=20),
    "queries and keys of width 9": _words(4, seed=30, width=9),
    "values of width 3": _words(4, seed=35, value_width=3),
    "values of width 6": _words(4, seed=36, value_width=6),
    "one sentence in a batch": _words(1, 5, seed=37),
    "a batch of two sentences": _words(2, 5, seed=40),
    "two sentences and three heads": _words(2, 3, 5, seed=45),
    "queries that are very long": _long_queries(),
    "a visible score below -10,000,000,000": _opposite_queries(),
    "forty words": _words(40, seed=60),
    "a hundred words": _words(100, seed=62),
    "single precision": _narrow(),
}
"""What no test tries, but for the first."""


@Question
def unseen_leak(answer: Any) -> str:
    """Write causal attention with a bug that all five tests let through."""
    if not callable(answer):
        return "the function itself is asked for."
    failed = _failed(answer)
    if failed:
        return failed
    for probe, case in PROBES.items():
        got, right = attempt(answer, case).result, _causal_attention(*case)
        if not equal(got, right):
            print(f"All five tests let it through. But for {probe} {difference(got, right)}")
            return ""
    return f"no bug shows: it is right in {len(PROBES)} secret probes, too."

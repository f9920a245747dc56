"""Quantities: a wrong result that differs from the right one by a size or an argument."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.changes import is_sequence
from transformer_workbook.judge.comparing import equal, is_number

OF: dict[str, Callable[[float], float]] = {
    "{}": lambda q: q,
    "√{}": lambda q: q**0.5,
    "{}²": lambda q: q**2,
    "({} − 1)": lambda q: q - 1,
    "({} + 1)": lambda q: q + 1,
    "(1 − {})": lambda q: 1 - q,
    "2 {}": lambda q: 2 * q,
    "log {}": math.log,
}
"""What may be made of a size or of an argument."""


def flat(result: Any) -> Tensor:
    """All numbers of a result, one after the other.

    Raises:
        TypeError: if there is something else in it.
    """
    if is_sequence(result):
        return torch.cat([flat(entry) for entry in result])
    if isinstance(result, Tensor) and result.dtype == torch.bool:
        raise TypeError("no numbers")
    if not isinstance(result, Tensor) and not is_number(result):
        raise TypeError("no numbers")
    return torch.as_tensor(result).detach().double().flatten()


def by_a_quantity(
    answers: Sequence[Any], right: Sequence[Any], known: Sequence[Mapping[str, float]]
) -> str:
    """By which size or argument the answers are too large or too small, in every case.

    >>> by_a_quantity([6.0, 20.0], [2.0, 5.0], [{"d": 3.0}, {"d": 4.0}])
    'this is what is asked for, times d.'
    """
    try:
        pairs = [(flat(x), flat(y)) for x, y in zip(answers, right, strict=True)]
        ratios = [_one(got[want != 0] / want[want != 0]) for got, want in pairs]
        offsets = [_one(got - want) for got, want in pairs]
        zeros = all(equal(got[want == 0], want[want == 0]) for got, want in pairs)
    except Exception:  # they are no numbers, or not as many
        return ""
    names = [name for name in known[0] if all(name in sizes for sizes in known)]
    for name in names:
        for written, change in OF.items():
            try:
                values = [change(sizes[name]) for sizes in known]
                upside_down = [1 / value for value in values]
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            if len(set(values)) < 2:
                continue
            said = written.format(name)
            if zeros and equal(ratios, values):
                return f"this is what is asked for, times {said}."
            if zeros and equal(ratios, upside_down):
                return f"this is what is asked for, divided by {said}."
            if equal(offsets, values):
                return f"this is too large by {said}."
            if equal(offsets, [-value for value in values]):
                return f"this is too small by {said}."
    return ""


def _one(numbers: Tensor) -> float | None:
    """The number that they all are, or nothing."""
    first = float(numbers[0])
    return first if equal(numbers, torch.full_like(numbers, first)) else None

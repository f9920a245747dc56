"""Changes: what a wrong result may be of the right one, or the right one of it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor


def is_sequence(result: Any) -> bool:
    """Whether this is a list or a tuple."""
    return isinstance(result, list | tuple)


def _numbers(change: Callable[[Any], Any], result: Any) -> Any:
    """Change every number of a result."""
    if is_sequence(result):
        return type(result)(_numbers(change, entry) for entry in result)
    if isinstance(result, bool) or getattr(result, "dtype", None) == torch.bool:
        raise TypeError("a truth is no number")
    return change(result)


def _truths(result: Any) -> Any:
    if isinstance(result, bool):
        return not result
    if is_sequence(result):
        return type(result)(map(_truths, result))
    if result.dtype != torch.bool:
        raise TypeError("a number is no truth")
    return ~result


def _by_rows(change: Callable[[Any], Any], result: Any) -> Any:
    """Change a sequence, or a tensor along its first axis."""
    return change(result) if is_sequence(result) or result.dim() else None


def _turned(result: Any) -> Any:
    return result.flip(0) if isinstance(result, Tensor) else result[::-1]


def _sorted(result: Any) -> Any:
    return type(result)(sorted(result)) if is_sequence(result) else None


def _joined(first: Any, second: Any) -> Any:
    return torch.cat([first, second]) if isinstance(first, Tensor) else first + second


def _rounded(decimals: int, result: Any) -> Any:
    def nearest(x: Any) -> Any:
        return x.round(decimals=decimals) if isinstance(x, Tensor) else round(x, decimals)

    return _numbers(nearest, result)


def _logarithm(result: Any) -> Any:
    return torch.as_tensor(result).log()


RELATIONS: dict[str, Callable[[Any], Any]] = {
    "True and False are swapped.": _truths,
    "the sign is wrong: this is the negative of what is asked for.": partial(
        _numbers, lambda x: -x
    ),
    "this is 1 too many in every case.": partial(_numbers, lambda x: x + 1),
    "this is 1 too few in every case.": partial(_numbers, lambda x: x - 1),
    "this is 1 minus what is asked for.": partial(_numbers, lambda x: 1 - x),
    "this is upside down: 1 divided by what is asked for.": partial(_numbers, lambda x: 1 / x),
    "this is the square of what is asked for.": partial(_numbers, lambda x: x * x),
    "this is the root of what is asked for.": partial(_numbers, lambda x: x**0.5),
    "this is the logarithm of what is asked for.": _logarithm,
    "what is asked for is the logarithm of this.": lambda x: torch.as_tensor(x).exp(),
    "this is rounded to whole numbers.": partial(_rounded, 0),
    "this is rounded to one decimal.": partial(_rounded, 1),
    "this is rounded to two decimals.": partial(_rounded, 2),
    "this is rounded down to whole numbers.": partial(_numbers, lambda x: x // 1),
    "this is rounded up to whole numbers.": partial(_numbers, lambda x: -(-x // 1)),
    "the negative numbers have become 0.": partial(_numbers, lambda x: x * (x > 0)),
    "rows and columns are swapped.": lambda x: x.mT,
    "the first two axes are swapped.": lambda x: x.transpose(0, 1),
    "the right numbers stand here without their shape.": lambda x: x.flatten(),
    "these are the right numbers with one axis too many, in front.": (
        lambda x: torch.as_tensor(x)[None]
    ),
    "these are the right numbers with one axis too many, at the end.": lambda x: x[..., None],
    "these are the right numbers without their first axis.": lambda x: x.squeeze(0),
    "these are the right numbers without their last axis.": lambda x: x.squeeze(-1),
    "the order is turned round: the last comes first.": _turned,
    "the first is missing; the rest is right.": partial(_by_rows, lambda x: x[1:]),
    "the last is missing; the rest is right.": partial(_by_rows, lambda x: x[:-1]),
    "these are the right entries, but sorted.": _sorted,
    "this is the sum of what is asked for.": lambda x: x.sum() if hasattr(x, "sum") else sum(x),
    "this is the mean of what is asked for.": lambda x: x.mean(),
    "these are numbers; True and False are asked for.": lambda x: (
        x.int() if x.dtype == torch.bool else None
    ),
    "this is the right result in a list; it is asked for alone.": lambda x: [x],
    "this is the tanh of what is asked for.": lambda x: x.tanh(),
    "this is the softmax of what is asked for, along the last axis.": lambda x: x.softmax(-1),
    "the signs are missing: these are the absolute values of what is asked for.": partial(
        _numbers, abs
    ),
    "these are the running sums of what is asked for, along the last axis.": (
        lambda x: x.cumsum(-1)
    ),
    "this is the sum of what is asked for, over the last axis.": lambda x: x.sum(-1),
    "this is the sum of what is asked for, over the first axis.": lambda x: x.sum(0),
    "this is the mean of what is asked for, over the last axis.": lambda x: x.mean(-1),
    "this is the mean of what is asked for, over the first axis.": lambda x: x.mean(0),
    "the order is turned round along the last axis.": lambda x: x.flip(-1),
    "each stands one place too early, and the first comes last.": partial(
        _by_rows, lambda x: _joined(x[1:], x[:1])
    ),
    "each stands one place too late, and the last comes first.": partial(
        _by_rows, lambda x: _joined(x[-1:], x[:-1])
    ),
    "only the first of what is asked for is given.": lambda x: x[0],
    "only the last of what is asked for is given.": lambda x: x[-1],
}
"""What a wrong result may be, and how it comes from the right one."""

ASKED_FOR: dict[str, Callable[[Any], Any]] = {
    "some signs are wrong; without them, the numbers are right.": partial(_numbers, abs),
    "what is asked for is the sum of this.": lambda x: x.sum(),
    "what is asked for is the sum of this over the last axis.": lambda x: x.sum(-1),
    "what is asked for is the sum of this over the first axis.": lambda x: x.sum(0),
    "what is asked for is the mean of this.": lambda x: x.mean(),
    "what is asked for is the mean of this over the last axis.": lambda x: x.mean(-1),
    "what is asked for is the mean of this over the first axis.": lambda x: x.mean(0),
    "what is asked for is the softmax of this, along the last axis.": lambda x: x.softmax(-1),
    "what is asked for is the tanh of this.": lambda x: x.tanh(),
    "what is asked for is how many these are.": len,
    "some numbers are nan where 0 is asked for; the others are right.": lambda x: x.nan_to_num(),
    "the right result comes first here, with more after it; it is asked for alone.": (
        lambda x: x[0] if isinstance(x, tuple) else None
    ),
    "the right result comes last here, with more before it; it is asked for alone.": (
        lambda x: x[-1] if isinstance(x, tuple) else None
    ),
}
"""How the right result may come from a wrong one."""

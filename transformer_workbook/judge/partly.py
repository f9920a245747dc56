"""Partly: what is right in wrong results, such as their beginning, or all but the order."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.comparing import equal
from transformer_workbook.judge.places import places

Results = Sequence[Any]
Holds = Callable[[Any, Any], bool]


def partly_right(
    answers: Results, right: Results, axes: Sequence[str] = (), whole: bool = False
) -> str:
    """What part of the right results is in the answers, in every case; or nothing.

    The axes of right tensors may have names.

    >>> partly_right([[3, 1, 2], [5, 4]], [[1, 2, 3], [4, 5]])
    'these are the right entries in another order.'
    >>> x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0, 6.0]])
    >>> partly_right([x.flatten(), y.flatten()], [x, y])
    'the right numbers stand here in their order, in another shape.'
    """
    pairs = list(zip(answers, right, strict=True))
    if whole and any(_has_floats(x) for x, _ in pairs):
        return ""
    if all(isinstance(x, list | tuple | str) for pair in pairs for x in pair):
        return _always(SEQUENCES, pairs, whole)
    if not all(isinstance(x, Tensor) and x.dim() for pair in pairs for x in pair):
        return ""
    if any(_kind(x, whole) != _kind(y, whole) for x, y in pairs):
        return ""
    if any(x.shape != y.shape for x, y in pairs):
        return _always(OTHER_SHAPES, pairs, whole)
    return _always(places(axes), pairs, whole)


def _has_floats(result: Any) -> bool:
    """Whether an entry is no whole number, be it that of an entry."""
    if isinstance(result, list | tuple):
        return any(map(_has_floats, result))
    return isinstance(result, float)


def _kind(tensor: Tensor, whole: bool) -> tuple[bool, bool]:
    return tensor.dtype == torch.bool, whole and tensor.is_floating_point()


def _always(sayings: dict[str, Holds], pairs: list[tuple[Any, Any]], whole: bool) -> str:
    """The first sentence that holds for all pairs that are not equal; all such count."""
    wrong = [(x, y) for x, y in pairs if not equal(x, y, whole)]
    return next((said for said, holds in sayings.items() if _hold(holds, wrong)), "")


def _hold(holds: Holds, pairs: list[tuple[Any, Any]]) -> bool:
    try:
        return all(holds(x, y) for x, y in pairs)
    except Exception:  # it makes no sense for results of this kind
        return False


def _begins(x: Any, y: Any) -> bool:
    return len(x) < len(y) and equal(x, y[: len(x)]) and len(x) > 0


def _ends(x: Any, y: Any) -> bool:
    return len(x) < len(y) and equal(x, y[len(y) - len(x) :]) and len(x) > 0


def _counted(x: Any) -> Counter[str]:
    return Counter(repr(round(entry, 4) if isinstance(entry, float) else entry) for entry in x)


SEQUENCES: dict[str, Holds] = {
    "this is right as far as it goes, but ends too early.": _begins,
    "the beginning is missing; from there on it is right.": _ends,
    "this begins right, but more follows than is asked for.": lambda x, y: _begins(y, x),
    "this ends right, but more comes before than is asked for.": lambda x, y: _ends(y, x),
    "these are the right entries in another order.": lambda x, y: _counted(x) == _counted(y),
    "some of the right entries are missing; those that are here are right.": (
        lambda x, y: len(x) > 0 and _counted(x) < _counted(y)
    ),
    "all that is asked for is here, and something else besides.": (
        lambda x, y: len(y) > 0 and _counted(x) > _counted(y)
    ),
    "the right lists are here, but within each the order is another.": (
        lambda x, y: [_counted(part) for part in x] == [_counted(part) for part in y]
    ),
    "the first is wrong, all others are right.": (
        lambda x, y: len(x) == len(y) > 2 and equal(x[1:], y[1:])
    ),
    "the last is wrong, all others are right.": (
        lambda x, y: len(x) == len(y) > 2 and equal(x[:-1], y[:-1])
    ),
}
"""What a wrong list, tuple or text may have in common with the right one."""


def _in_order(tensor: Tensor) -> Tensor:
    return tensor.detach().double().flatten().sort().values


def _axes_elsewhere(x: Tensor, y: Tensor) -> bool:
    """Whether the axes stand in another order."""
    orders = permutations(range(y.dim()))
    return any(equal(x, y.permute(order)) for order in orders)


def _crossed(x: Tensor, y: Tensor) -> bool:
    """Whether the right result is a diagonal of one with an axis more."""
    pairs = [(i, j) for i, j in permutations(range(x.dim()), 2) if i < j]
    return any(equal(x.diagonal(0, i, j).movedim(-1, 0), y) for i, j in pairs)


OTHER_SHAPES: dict[str, Holds] = {
    "the axes stand in another order; the numbers are right.": _axes_elsewhere,
    "the right numbers stand here in their order, in another shape.": (
        lambda x, y: equal(x.flatten(), y.flatten())
    ),
    "the right numbers stand here in another order, in another shape.": (
        lambda x, y: equal(_in_order(x), _in_order(y))
    ),
    "the right result is repeated along an axis that should not be there.": (
        lambda x, y: x.dim() > y.dim() and equal(x, y.expand_as(x))
    ),
    "an axis is missing along which all should be repeated.": (
        lambda x, y: x.dim() < y.dim() and equal(x.expand_as(y), y)
    ),
    "the right numbers come first along the last axis, with more after them.": (
        lambda x, y: x.size(-1) > y.size(-1) and equal(x[..., : y.size(-1)], y)
    ),
    "the right numbers come last along the last axis, with more before them.": (
        lambda x, y: x.size(-1) > y.size(-1) and equal(x[..., -y.size(-1) :], y)
    ),
    "each is combined with every other along the first axis, not only with its own.": (_crossed),
    "this is right as far as it goes along the last axis, but too short.": (
        lambda x, y: 0 < x.size(-1) < y.size(-1) and equal(x, y[..., : x.size(-1)])
    ),
    "the first numbers along the last axis are missing; the others are right.": (
        lambda x, y: 0 < x.size(-1) < y.size(-1) and equal(x, y[..., -x.size(-1) :])
    ),
    "this is right as far as it goes along the first axis, but too short.": (
        lambda x, y: 0 < len(x) < len(y) and equal(x, y[: len(x)])
    ),
    "the first along the first axis are missing; the others are right.": (
        lambda x, y: 0 < len(x) < len(y) and equal(x, y[-len(x) :])
    ),
    "the right ones come first along the first axis, with more after them.": (
        lambda x, y: len(x) > len(y) > 0 and equal(x[: len(y)], y)
    ),
    "the right ones come last along the first axis, with more before them.": (
        lambda x, y: len(x) > len(y) > 0 and equal(x[-len(y) :], y)
    ),
}
"""What a tensor of a wrong shape may have in common with the right one."""

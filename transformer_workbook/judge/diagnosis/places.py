"""Where is the answer wrong? On a diagonal, at an end, in some entries: and right elsewhere."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.comparing import equal

Holds = Callable[[Tensor, Tensor], bool]


def _wrong_in(x: Tensor, y: Tensor) -> Tensor:
    return ~torch.isclose(x.double(), y.double(), atol=1e-5, rtol=1e-4, equal_nan=True)


def _only(place: Callable[[Tensor, Tensor], Tensor]) -> Holds:
    """That half of the numbers in a place at least are wrong, and none of those outside."""

    def holds(x: Tensor, y: Tensor) -> bool:
        there, wrong = place(x, y).expand_as(y), _wrong_in(x, y)
        if there.all() or (wrong & ~there).any():
            return False
        return bool(wrong[there].double().mean() >= 0.5)

    return holds


def _diagonal(x: Tensor) -> Tensor:
    return torch.eye(*x.shape[-2:]) == 1


def _at(end: int, axis: int, at: bool = True) -> Callable[[Tensor, Tensor], Tensor]:
    """The places at one end of an axis, or all others."""

    def places(x: Tensor, y: Tensor) -> Tensor:
        there = torch.zeros_like(y, dtype=torch.bool)
        there.select(axis, end).fill_(True)
        return there == at

    return places


def _truths(x: Tensor) -> Tensor:
    if x.dtype != torch.bool:
        raise TypeError("numbers are no truths")
    return x


def _scaled(axis: int) -> Holds:
    """That the numbers along an axis are right up to a factor, of which there are several."""

    def holds(x: Tensor, y: Tensor) -> bool:
        factor = (x * y).sum(axis, keepdim=True) / (y * y).sum(axis, keepdim=True)
        return x.size(axis) > 1 and bool((factor.abs() > 1e-3).all()) and equal(x, factor * y)

    return holds


def _moved(axis: int) -> Holds:
    """That the numbers along an axis are right up to one that is added to all of them."""

    def holds(x: Tensor, y: Tensor) -> bool:
        offset = (x - y).mean(axis, keepdim=True)
        return x.size(axis) > 1 and equal(x, y + offset)

    return holds


def _in_order(tensor: Tensor) -> Tensor:
    return tensor.detach().double().flatten().sort().values


def _rows(tensor: Tensor) -> Tensor:
    """The rows along the last axis, in an order of their own."""
    flat = tensor.detach().double().reshape(-1, tensor.size(-1))
    order = (flat @ torch.arange(1.0, flat.size(-1) + 1).double().sqrt()).argsort()
    return flat[order]


ENDS = {"first": 0, "last": -1}

WRONG: dict[str, Holds] = {
    "wrong numbers stand on the diagonal only.": _only(lambda x, y: _diagonal(y)),
    "some numbers are nan; the others are right.": _only(lambda x, y: x.isnan()),
    "some numbers are infinite; the others are right.": _only(lambda x, y: x.isinf()),
    "no True is missing, but some are too many.": _only(lambda x, y: _truths(x) & ~y),
    "no True is too many, but some are missing.": _only(lambda x, y: ~_truths(x) & y),
    "something else stands where 0 is asked for; all other numbers are right.": (
        _only(lambda x, y: y == 0)
    ),
    "0 stands where something else is asked for; all other numbers are right.": (
        _only(lambda x, y: x == 0)
    ),
}
"""Where wrong numbers may stand, first of all."""

CORNERS: dict[str, Holds] = {
    "wrong numbers stand above the diagonal only.": (
        _only(lambda x, y: torch.ones(y.shape[-2:]).triu(1) == 1)
    ),
    "wrong numbers stand below the diagonal only.": (
        _only(lambda x, y: torch.ones(y.shape[-2:]).tril(-1) == 1)
    ),
    "the rows are right, but stand in another order.": lambda x, y: equal(_rows(x), _rows(y)),
    "the numbers are right, but stand in other places.": (
        lambda x, y: equal(_in_order(x), _in_order(y))
    ),
}
"""Where wrong numbers may stand, if it is no end of an axis."""


def places(axes: Sequence[str] = ()) -> dict[str, Holds]:
    """What wrong tensors of the right shape may have in common with right ones: what to say, and
    whether it holds. The axes may have names."""
    named = {f"`{name}`": i - len(axes) for i, name in enumerate(axes) if "*" not in name}
    named |= {"the last axis": -1, "the last axis but one": -2, "the first axis": 0}
    ends = [(end, i, name, axis) for name, axis in named.items() for end, i in ENDS.items()]
    wrong = {
        f"wrong numbers stand at the {end} place of {name} only.": _only(_at(i, axis))
        for end, i, name, axis in ends
    }
    right = {
        f"right numbers stand at the {end} place of {name} only.": _only(_at(i, axis, at=False))
        for end, i, name, axis in ends
    }
    scaled = {
        f"along {name} the numbers are right up to a factor.": _scaled(axis)
        for name, axis in named.items()
    }
    moved = {
        f"along {name} the numbers are right but for one that is added to all.": _moved(axis)
        for name, axis in named.items()
    }
    return WRONG | wrong | CORNERS | right | scaled | moved


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

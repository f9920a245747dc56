"""Places: where the wrong numbers of a tensor stand, and what they have in common."""

from collections.abc import Callable, Sequence

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

"""Where is the answer wrong? On a diagonal, at an end, in some entries, and right elsewhere."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.comparing import equal
from transformer_workbook.judge.sentences import Way, first_said, said

Results = Sequence[Any]
Holds = Callable[[Any, Any], bool]


def _wrong_in(x: Tensor, y: Tensor) -> Tensor:
    return ~torch.isclose(x.double(), y.double(), atol=1e-5, rtol=1e-4, equal_nan=True)


def _only(place: Callable[[Tensor, Tensor], Tensor]) -> Holds:
    """Test that at least half of the numbers in a region are wrong, and none outside it."""

    def holds(x: Tensor, y: Tensor) -> bool:
        there, wrong = place(x, y).expand_as(y), _wrong_in(x, y)
        if there.all() or (wrong & ~there).any():
            return False
        return bool(wrong[there].double().mean() >= 0.5)

    return holds


def _all_of(x: Tensor) -> Tensor:
    return torch.ones(x.shape[-2:], dtype=torch.bool)


def _only_at(end: int, at: bool, axis: int, x: Tensor, y: Tensor) -> bool:
    """Test the same for one end of an axis, or for everything else, which is much of a table."""
    if not at and y.dim() == 1:
        return False
    there = torch.zeros_like(y, dtype=torch.bool)
    there.select(axis, end).fill_(True)
    return _only(lambda x, y: there == at)(x, y)


def _truths(x: Tensor) -> Tensor:
    if x.dtype != torch.bool:
        raise TypeError("numbers are not booleans")
    return x


def _scaled(axis: int, x: Tensor, y: Tensor) -> bool:
    """Test that the numbers along an axis are right up to a factor, of which there are several."""
    factor = (x * y).sum(axis, keepdim=True) / (y * y).sum(axis, keepdim=True)
    return x.size(axis) > 1 and bool((factor.abs() > 1e-3).all()) and equal(x, factor * y)


def _moved(axis: int, x: Tensor, y: Tensor) -> bool:
    """Test that the numbers along an axis are right up to a constant that is added."""
    offset = (x - y).mean(axis, keepdim=True)
    return x.size(axis) > 1 and not x.isnan().any() and equal(x, y + offset)


def _in_order(tensor: Tensor) -> Tensor:
    return tensor.detach().double().flatten().sort().values


def _rows(tensor: Tensor) -> Tensor:
    """Sort the rows along the last axis."""
    flat = tensor.detach().double().reshape(-1, tensor.size(-1))
    order = (flat @ torch.arange(1.0, flat.size(-1) + 1).double().sqrt()).argsort()
    return flat[order]


WRONG: tuple[Way, ...] = (
    Way("only numbers on the diagonal are wrong.", _only(lambda x, y: _all_of(y).triu().tril())),
    Way("some numbers are nan; the others are right.", _only(lambda x, y: x.isnan())),
    Way("some numbers are infinite; the others are right.", _only(lambda x, y: x.isinf())),
    Way("no True is missing, but some are too many.", _only(lambda x, y: _truths(x) & ~y)),
    Way("no True is too many, but some are missing.", _only(lambda x, y: ~_truths(x) & y)),
    Way(
        "where 0 is asked for there is something else; all other numbers are right.",
        _only(lambda x, y: y == 0),
    ),
    Way(
        "there is 0 where something else is asked for; all other numbers are right.",
        _only(lambda x, y: x == 0),
    ),
)
"""Where wrong numbers may be, tried first."""

WRONG_ENDS: tuple[Way, ...] = (
    Way("only the first position of {axis} is wrong.", partial(_only_at, 0, True)),
    Way("only the last position of {axis} is wrong.", partial(_only_at, -1, True)),
)
"""What may hold along an axis."""

CORNERS: tuple[Way, ...] = (
    Way("only numbers above the diagonal are wrong.", _only(lambda x, y: _all_of(y).triu(1))),
    Way("only numbers below the diagonal are wrong.", _only(lambda x, y: _all_of(y).tril(-1))),
    Way("the rows are right, but in another order.", lambda x, y: equal(_rows(x), _rows(y))),
    Way(
        "the numbers are right, but in other positions.",
        lambda x, y: equal(_in_order(x), _in_order(y)),
    ),
)
"""Where wrong numbers may be, if not at an end of an axis."""

RIGHT_ENDS: tuple[Way, ...] = (
    Way("only the first position of {axis} is right.", partial(_only_at, 0, False)),
    Way("only the last position of {axis} is right.", partial(_only_at, -1, False)),
)
ALONG: tuple[Way, ...] = (
    Way("along {axis} the numbers are right up to a factor.", _scaled),
    Way("along {axis} the numbers are right up to a constant that is added.", _moved),
)
"""What may hold along an axis, tried last."""


def places(axes: Sequence[str] = ()) -> Iterator[Way]:
    """Iterate over what wrong tensors of the right shape may have in common with right ones.

    The axes may have names.
    """
    own = {name: i - len(axes) for i, name in enumerate(axes) if "*" not in name}
    named = [(f"`{name}`", i) for name, i in own.items()]
    named += [(said("the last axis"), -1), (said("the last axis but one"), -2)]
    named += [(said("the first axis"), 0)]
    yield from WRONG
    yield from (_along(way, *axis) for axis in named for way in WRONG_ENDS)
    yield from CORNERS
    yield from (_along(way, *axis) for axis in named for way in RIGHT_ENDS)
    yield from (_along(way, *axis) for way in ALONG for axis in named)


def _along(way: Way, name: str, axis: int) -> Way:
    return Way(way.says, partial(way.how, axis), {"axis": name})


def partly_right(
    answers: Results, right: Results, axes: Sequence[str] = (), whole: bool = False
) -> str:
    """Say which part of the right results is in the answers, in every case; or return "".

    The axes of right tensors may have names.

    >>> partly_right([[3, 1, 2], [5, 4]], [[1, 2, 3], [4, 5]])
    'these are the right entries in another order.'
    >>> x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0, 6.0]])
    >>> partly_right([x.flatten(), y.flatten()], [x, y])
    'these are the right numbers in their order, in another shape.'
    """
    pairs = list(zip(answers, right, strict=True))
    if whole and any(_has_floats(x) for x, _ in pairs):
        return ""
    wrong = [(x, y) for x, y in pairs if not equal(x, y, whole)]

    def hold(holds: Holds) -> bool:
        return all(holds(x, y) for x, y in wrong)

    if all(isinstance(x, list | tuple | str) for pair in pairs for x in pair):
        return first_said(SEQUENCES, hold)
    if not all(isinstance(x, Tensor) and x.dim() for pair in pairs for x in pair):
        return ""
    if any(_kind(x, whole) != _kind(y, whole) for x, y in pairs):
        return ""
    if any(x.shape != y.shape for x, y in pairs):
        return first_said(OTHER_SHAPES, hold)
    return first_said(places(axes), hold)


def _has_floats(result: Any) -> bool:
    """Tell whether a result contains a float."""
    if isinstance(result, list | tuple):
        return any(map(_has_floats, result))
    return isinstance(result, float)


def _kind(tensor: Tensor, whole: bool) -> tuple[bool, bool]:
    return tensor.dtype == torch.bool, whole and tensor.is_floating_point()


def _begins(x: Any, y: Any) -> bool:
    return len(x) < len(y) and equal(x, y[: len(x)]) and len(x) > 0


def _ends(x: Any, y: Any) -> bool:
    return len(x) < len(y) and equal(x, y[len(y) - len(x) :]) and len(x) > 0


def _counted(x: Any) -> Counter[str]:
    return Counter(repr(round(entry, 4) if isinstance(entry, float) else entry) for entry in x)


SEQUENCES: tuple[Way, ...] = (
    Way("this is right as far as it goes, but ends too early.", _begins),
    Way("the beginning is missing; from there on it is right.", _ends),
    Way("this begins right, but more follows than is asked for.", lambda x, y: _begins(y, x)),
    Way("this ends right, but more comes before than is asked for.", lambda x, y: _ends(y, x)),
    Way("these are the right entries in another order.", lambda x, y: _counted(x) == _counted(y)),
    Way(
        "some of the right entries are missing; those that are here are right.",
        lambda x, y: len(x) > 0 and _counted(x) < _counted(y),
    ),
    Way(
        "all that is asked for is here, and something else besides.",
        lambda x, y: len(y) > 0 and _counted(x) > _counted(y),
    ),
    Way(
        "the right lists are here, but within each the order is another.",
        lambda x, y: [_counted(part) for part in x] == [_counted(part) for part in y],
    ),
    Way(
        "the first is wrong, all others are right.",
        lambda x, y: len(x) == len(y) > 2 and equal(x[1:], y[1:]),
    ),
    Way(
        "the last is wrong, all others are right.",
        lambda x, y: len(x) == len(y) > 2 and equal(x[:-1], y[:-1]),
    ),
)
"""What a wrong list, tuple or text may have in common with the right one."""


def _axes_elsewhere(x: Tensor, y: Tensor) -> bool:
    """Tell whether the axes are in another order."""
    orders = permutations(range(y.dim()))
    return any(equal(x, y.permute(order)) for order in orders)


def _crossed(x: Tensor, y: Tensor) -> bool:
    """Tell whether the right result is the diagonal of a tensor with one axis more."""
    pairs = [(i, j) for i, j in permutations(range(x.dim()), 2) if i < j]
    return any(equal(x.diagonal(0, i, j).movedim(-1, 0), y) for i, j in pairs)


def _in_columns(holds: Holds) -> Holds:
    """Test the same along the last axis."""
    return lambda x, y: holds(x.movedim(-1, 0), y.movedim(-1, 0))


OTHER_SHAPES: tuple[Way, ...] = (
    Way("the axes are in another order; the numbers are right.", _axes_elsewhere),
    Way(
        "these are the right numbers in their order, in another shape.",
        lambda x, y: equal(x.flatten(), y.flatten()),
    ),
    Way(
        "these are the right numbers in another order and another shape.",
        lambda x, y: equal(_in_order(x), _in_order(y)),
    ),
    Way(
        "the right result is repeated along an axis that should not be there.",
        lambda x, y: x.dim() > y.dim() and equal(x, y.expand_as(x)),
    ),
    Way(
        "an axis is missing along which all should be repeated.",
        lambda x, y: x.dim() < y.dim() and equal(x.expand_as(y), y),
    ),
    Way(
        "the right numbers come first along the last axis, with more after them.",
        lambda x, y: x.size(-1) > y.size(-1) and equal(x[..., : y.size(-1)], y),
    ),
    Way(
        "the right numbers come last along the last axis, with more before them.",
        _in_columns(lambda x, y: _ends(y, x)),
    ),
    Way("each is combined with every other along the first axis, not only with its own.", _crossed),
    Way(
        "this is right as far as it goes along the last axis, but too short.", _in_columns(_begins)
    ),
    Way(
        "the first numbers along the last axis are missing; the others are right.",
        _in_columns(_ends),
    ),
    Way("this is right as far as it goes along the first axis, but too short.", _begins),
    Way("the first along the first axis are missing; the others are right.", _ends),
    Way(
        "the right ones come first along the first axis, with more after them.",
        lambda x, y: _begins(y, x),
    ),
    Way(
        "the right ones come last along the first axis, with more before them.",
        lambda x, y: _ends(y, x),
    ),
)
"""What a tensor of a wrong shape may have in common with the right one."""

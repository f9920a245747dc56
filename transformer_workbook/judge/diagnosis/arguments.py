"""For which other arguments would the answer be right? One number more, another axis, a size."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.comparing import is_number
from transformer_workbook.judge.copying import copied


def parameters(
    reference: Callable[..., Any], ask: Callable[..., Any] | None, case: Sequence[Any]
) -> dict[str, Any]:
    """The names of the arguments of a case, each with its annotation.

    They are those of the reference; where it takes others than the case has, those of ``ask``,
    whose first parameter is the answer.
    """
    found = list(signature(reference).parameters.values())
    if ask and len(found) != len(case):
        found = list(signature(ask).parameters.values())[1:]
    if any(p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for p in found):
        return {f"argument {i + 1}": None for i in range(len(case))}
    return {p.name: p.annotation for p in found} if len(found) == len(case) else {}


def axes(name: str, annotation: Any, tensor: Tensor) -> list[str]:
    """What the axes of a tensor are called: by its annotation, else by their numbers.

    >>> import torch
    >>> from jaxtyping import Float
    >>> axes("x", Float[Tensor, "batch d"], torch.ones(2, 3))
    ['batch', 'd']
    >>> axes("x", Tensor, torch.ones(2, 3))
    ['x.size(0)', 'x.size(1)']
    """
    names = getattr(annotation, "dim_str", "").replace("#", "").split()
    numbered = [f"{name}.size({i})" for i in range(tensor.dim())]
    if names and names[0].startswith("*"):
        more = tensor.dim() - len(names) + 1
        names[:1] = numbered[:more]
    return names if len(names) == tensor.dim() else numbered


def sizes(known: Mapping[str, Any], case: Sequence[Any]) -> dict[str, float]:
    """The sizes of all axes of a case by their names, and the numbers among its arguments."""
    found: dict[str, float] = {}
    for (name, annotation), argument in zip(known.items(), case, strict=False):
        if isinstance(argument, Tensor) and argument.dim():
            named = zip(axes(name, annotation, argument), argument.shape, strict=True)
            found |= {axis: float(size) for axis, size in named if not axis.isdigit()}
        elif is_number(argument):
            found[name] = float(argument)
        elif isinstance(argument, str | list | tuple | set | dict):
            found[f"len({name})"] = float(len(argument))
    return found


def named_shape(result: Any, known: Mapping[str, float]) -> str:
    """The axes of a tensor, called by what has their sizes; nothing where that is not clear.

    >>> import torch
    >>> named_shape(torch.ones(2, 3, 1), {"batch": 2.0, "d": 3.0})
    '(batch, d, 1)'
    """
    if not isinstance(result, Tensor):
        return ""
    named = [
        ["1"] if n == 1 else [name for name, size in known.items() if size == n]
        for n in result.shape
    ]
    if any(len(names) != 1 for names in named):
        return ""
    called = itertools.chain.from_iterable(named)
    return f"({', '.join(called)})"


Case = tuple[Any, ...]

TENSORS: dict[str, Callable[[Tensor], Tensor]] = {
    "rows and columns of `{0}` are swapped": lambda x: x.mT,
    "the first two axes of `{0}` are swapped": lambda x: x.transpose(0, 1),
}
"""What may be done to any tensor with axes."""

TRUTHS: dict[str, Callable[[Tensor], Tensor]] = {
    "True and False are swapped in `{0}`": torch.logical_not,
    "`{0}` is True everywhere": torch.ones_like,
    "`{0}` is False everywhere": torch.zeros_like,
}
"""What may be done to a mask."""

FLOATS: dict[str, Callable[[Tensor], Tensor]] = {
    "`{0}` is taken with the other sign": torch.neg,
    "`{0}` is 0 everywhere": torch.zeros_like,
    "`{0}` is 1 everywhere": torch.ones_like,
    "`{0}` is taken without its signs": torch.abs,
    "`{0}` is taken twice": lambda x: 2 * x,
    "`{0}` is halved": lambda x: x / 2,
    "`{0}` is squared": torch.square,
    "`{0}` goes through exp first": torch.exp,
    "`{0}` goes through tanh first": torch.tanh,
    "`{0}` goes through a sigmoid first": torch.sigmoid,
    "`{0}` goes through a softmax along its last axis first": lambda x: x.softmax(-1),
    "`{0}` goes through a logarithm first": torch.log,
    "`{0}` is divided by the root of its last axis' size": lambda x: x / x.size(-1) ** 0.5,
    "`{0}` is multiplied by the root of its last axis' size": lambda x: x * x.size(-1) ** 0.5,
    "the mean along its last axis is taken off `{0}`": lambda x: x - x.mean(-1, keepdim=True),
    "`{0}` is divided by its sum along its last axis": lambda x: x / x.sum(-1, keepdim=True),
    "`{0}` is rounded": torch.round,
}
"""What may be done to numbers."""

WHOLE: dict[str, Callable[[Any], Any]] = {
    "`{0}` is 1 larger": lambda x: x + 1,
    "`{0}` is 1 smaller": lambda x: x - 1,
    "`{0}` is 0 in every case": lambda x: 0 * x,
    "`{0}` is 1 in every case": lambda x: 0 * x + 1,
    "`{0}` is doubled": lambda x: 2 * x,
    "`{0}` is halved, and rounded down": lambda x: x // 2,
    "`{0}` is taken with the other sign": lambda x: -x,
    "`{0}` is 2 larger": lambda x: x + 2,
    "`{0}` is 2 smaller": lambda x: x - 2,
}
"""What may be done to a whole number, or to whole numbers."""

REAL: dict[str, Callable[[float], float]] = {
    "`{0}` is taken with the other sign": lambda x: -x,
    "`{0}` is replaced by its root": lambda x: x**0.5,
    "`{0}` is squared": lambda x: x * x,
    "`{0}` is replaced by 1 divided by it": lambda x: 1 / x,
    "`{0}` is replaced by 1 minus it": lambda x: 1 - x,
    "`{0}` is doubled": lambda x: 2 * x,
    "`{0}` is halved": lambda x: x / 2,
    "`{0}` is 0 in every case": lambda x: 0.0,
    "`{0}` is 1 in every case": lambda x: 1.0,
}
"""What may be done to a number that need not be whole."""

LISTS: dict[str, Callable[[Any], Any]] = {
    "`{0}` is read from its end": lambda x: x[::-1],
    "`{0}` is sorted first": lambda x: type(x)(sorted(x)),
    "the first is missing from `{0}`": lambda x: x[1:],
    "the last is missing from `{0}`": lambda x: x[:-1],
    "`{0}` holds its first alone": lambda x: x[:1],
    "`{0}` holds its last alone": lambda x: x[-1:],
    "`{0}` is without repetitions": lambda x: list(dict.fromkeys(x)),
}
"""What may be done to a list."""

ALONG: dict[str, Callable[[Tensor, int], Tensor]] = {
    "`{0}` is turned round along {1}": lambda x, axis: x.flip(axis),
    "`{0}` is moved one place on along {1}": lambda x, axis: x.roll(1, axis),
    "`{0}` is moved one place back along {1}": lambda x, axis: x.roll(-1, axis),
    "the first of {1} stands for all in `{0}`": (
        lambda x, axis: x.narrow(axis, 0, 1).expand_as(x).clone()
    ),
    "the last of {1} stands for all in `{0}`": (
        lambda x, axis: x.narrow(axis, x.size(axis) - 1, 1).expand_as(x).clone()
    ),
    "`{0}` is sorted along {1}": lambda x, axis: x.sort(axis).values,
    "the mean over {1} stands for all in `{0}`": (
        lambda x, axis: x.mean(axis, keepdim=True).expand_as(x).clone()
    ),
    "`{0}` goes through a softmax along {1} first": lambda x, axis: x.softmax(axis),
}
"""What may be done to a tensor along an axis; a truth may be 'any' or 'all' of them."""

ANY_AND_ALL: dict[str, Callable[[Tensor, int], Tensor]] = {
    "`{0}` is True along {1} where any is": (
        lambda x, axis: x.any(axis, keepdim=True).expand_as(x).clone()
    ),
    "`{0}` is True along {1} where all are": (
        lambda x, axis: x.all(axis, keepdim=True).expand_as(x).clone()
    ),
}
"""What may be done to a mask along an axis."""


def _changes(name: str, annotation: Any, argument: Any) -> Iterator[tuple[str, Any]]:
    """What an argument may be taken for, as the end of a sentence and a function."""
    found: list[tuple[str, Any]] = []
    if isinstance(argument, Tensor) and argument.dim():
        kind = TRUTHS if argument.dtype == torch.bool else WHOLE
        found += (FLOATS if argument.is_floating_point() else kind).items()
        for axis, named in enumerate(axes(name, annotation, argument)):
            along = ALONG | (ANY_AND_ALL if argument.dtype == torch.bool else {})
            for said, change in along.items():
                found.append(
                    (said.replace("{1}", f"`{named}`"), lambda x, c=change, a=axis: c(x, a))
                )
        found += TENSORS.items() if argument.dim() > 1 else ()
    elif isinstance(argument, bool):
        found.append(("`{0}` is turned round", lambda x: not x))
    elif isinstance(argument, int):
        found += WHOLE.items()
    elif isinstance(argument, float):
        found += REAL.items()
    elif isinstance(argument, list | str | tuple):
        found += LISTS.items()
    for said, change in found:
        yield said.format(name), change


def other_cases(
    known: Mapping[str, Any], cases: Sequence[Case]
) -> Iterator[tuple[str, Callable[[], Iterator[Case]]]]:
    """What to say, and what gives the cases with one argument changed: most are not needed."""
    names = list(known)
    for place, name in enumerate(names):
        for said, change in _changes(name, known[name], cases[0][place]):
            yield said, partial(_changed, cases, place, change)
    for place, other in _pairs(cases[0]):
        if place < len(names) > other:
            said = f"`{names[other]}` stands for `{names[place]}`, too"
            yield said, partial(_replaced, cases, place, other)


def _pairs(case: Case) -> Iterator[tuple[int, int]]:
    """Two arguments, of which the second may be taken for the first, too."""
    for i, x in enumerate(case):
        for j, y in enumerate(case):
            if i != j and type(x) is type(y) and not callable(x):
                yield i, j


def _changed(cases: Sequence[Case], place: int, change: Callable[[Any], Any]) -> Iterator[Case]:
    for case in cases:
        given = list(copied(case))
        with suppress(Exception):  # a change that makes no sense here changes nothing
            given[place] = change(given[place])
        yield tuple(given)


def _replaced(cases: Sequence[Case], place: int, other: int) -> Iterator[Case]:
    for case in cases:
        given = list(copied(case))
        given[place] = copied(given[other])
        yield tuple(given)

"""Surroundings: data that a function reads outside itself is copied, and restored afterwards."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from transformer_workbook.judge.comparing import equal
from transformer_workbook.judge.copying import copied

DATA = (Tensor, nn.Module, np.ndarray, list, dict, set, deque, tuple)
MISSING = object()
"""The value of a name that does not exist."""


class Place(NamedTuple):
    """A variable or default that a function reads."""

    holder: Any
    name: str
    value: Any
    put: Callable[[Any], None]
    """Replace its value."""


@contextlib.contextmanager
def surroundings_put_back(function: Callable[..., Any]) -> Iterator[dict[str, tuple[Any, Any]]]:
    """Let a function read copies of the data around it inside; yield each copy with its original.

    This includes the functions and classes of the same notebook that it uses.

    >>> seen = []
    >>> note = lambda x: seen.append(x)
    >>> with surroundings_put_back(note) as copies:
    ...     note(3)
    >>> seen, copies
    ([], {'seen': ([3], [])})
    """
    copies: dict[str, tuple[Any, Any]] = {}
    known: dict[int, Any] = {}
    home = getattr(getattr(function, "func", function), "__module__", None)
    with contextlib.ExitStack() as afterwards:
        for place in _outside(function, home, set()):
            afterwards.callback(place.put, place.value)
            if isinstance(place.value, DATA):
                with contextlib.suppress(Exception):  # a tensor with a history cannot be copied
                    place.put(copy := copied(place.value, known))
                    if equal(copy, place.value):
                        copies[place.name] = copy, place.value
        yield copies


def _outside(part: Any, home: str | None, seen: set[Any]) -> Iterator[Place]:
    """Iterate over the data that a function, a class or a partial reads, if it is defined there."""
    part = getattr(part, "__func__", part)  # for a method
    if isinstance(part, partial):
        given, state = (part.args, part.keywords), getattr(part, "__setstate__")  # noqa: B009
        yield Place(part, "partial", given, lambda x: state((part.func, *x, part.__dict__)))
        yield from _outside(part.func, home, seen)
    if getattr(part, "__module__", None) != home or id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, type):
        for member in (*vars(part).values(), *part.__bases__):
            yield from _outside(member, home, seen)
    if isinstance(part, FunctionType):
        for place in _places(part):
            if (key := (id(place.holder), place.name)) not in seen:
                seen.add(key)
                yield place
                yield from _outside(place.value, home, seen)


def _places(function: FunctionType) -> Iterator[Place]:
    """Iterate over the globals of a function, its closure, and its defaults."""
    world = function.__globals__
    for name in sorted(_names(function.__code__)):
        yield Place(world, name, world.get(name, MISSING), partial(_put, world, name))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # an empty cell
            yield Place(cell, name, cell.cell_contents, partial(setattr, cell, "cell_contents"))
    for name in ("__defaults__", "__kwdefaults__"):
        yield Place(function, name, getattr(function, name), partial(setattr, function, name))


def _put(world: dict[str, Any], name: str, value: Any) -> None:
    if value is MISSING:
        world.pop(name, None)
    else:
        world[name] = value


def _names(code: CodeType) -> set[str]:
    """Return the names that a piece of code, and the code inside it, may read outside."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))

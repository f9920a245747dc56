"""Circumstances: what the cases have in common in which an answer is right."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.course.comparing import is_number, show

Case = tuple[Any, ...]

OF_NUMBERS: dict[str, Callable[[Any], bool]] = {
    "`{}` is 0": lambda x: x == 0,
    "`{}` is 1": lambda x: x == 1,
    "`{}` is even": lambda x: x % 2 == 0,
    "`{}` is odd": lambda x: x % 2 == 1,
    "`{}` is negative": lambda x: x < 0,
    "`{}` is positive": lambda x: x > 0,
}
OF_TRUTHS: dict[str, Callable[[Tensor], bool]] = {
    "`{}` is True everywhere": lambda x: bool(x.all()),
    "`{}` is True somewhere": lambda x: bool(x.any()),
}
OF_IDS: dict[str, Callable[[Tensor], bool]] = {
    "there is no 0 in `{}`": lambda x: not (x == 0).any(),
    "there is a 0 in `{}`": lambda x: bool((x == 0).any()),
}
OF_LISTS: dict[str, Callable[[Any], bool]] = {
    "`{}` is empty": lambda x: not len(x),
    "`{}` is not empty": lambda x: bool(len(x)),
    "`{}` holds one entry": lambda x: len(x) == 1,
    "`{}` holds more than one entry": lambda x: len(x) > 1,
    "nothing stands in `{}` twice": lambda x: len(set(map(str, x))) == len(x),
    "something stands in `{}` twice": lambda x: len(set(map(str, x))) < len(x),
    "all entries of `{}` are equal": lambda x: len(set(map(str, x))) < 2,
    "`{}` is in order": lambda x: list(x) == sorted(x),
    "`{}` is not in order": lambda x: list(x) != sorted(x),
}


def circumstance(known: Mapping[str, Any], cases: Sequence[Case], is_right: Sequence[bool]) -> str:
    """Where an answer is right, if it is in the one half of the cases and not in the other.

    >>> cases = [("dot", 2), ("dot", 3), ("general", 3)]
    >>> circumstance({"score": str, "d": int}, cases, [True, True, False])
    "it is right where `score` is 'dot', and wrong in all other cases."
    """
    if len(set(is_right)) < 2:
        return ""
    for said, holds in _circumstances(known, cases, is_right):
        if holds == list(is_right):
            return f"it is right where {said}, and wrong in all other cases."
    return ""


def _circumstances(
    known: Mapping[str, Any], cases: Sequence[Case], is_right: Sequence[bool]
) -> Iterator[tuple[str, list[bool]]]:
    """What may hold of the arguments, and of which cases it does."""
    for place, name in enumerate(known):
        given = [case[place] for case in cases]
        if all(isinstance(x, bool | str) for x in given):
            good = list(dict.fromkeys(x for x, right in zip(given, is_right, strict=True) if right))
            yield f"`{name}` is {' or '.join(map(show, good))}", [x in good for x in given]
        for said, holds in _properties(given[0]).items():
            try:
                yield said.format(name), [bool(holds(x)) for x in given]
            except Exception:  # it makes no sense for some of them
                continue
        for other, second in enumerate(known):
            pairs = [(case[place], case[other]) for case in cases]
            if other > place and all(is_number(x) and is_number(y) for x, y in pairs):
                yield f"`{name}` is `{second}`", [x == y for x, y in pairs]


def _properties(argument: Any) -> Mapping[str, Callable[[Any], bool]]:
    if isinstance(argument, Tensor):
        if argument.is_floating_point():
            return {}
        return OF_TRUTHS if argument.dtype == torch.bool else OF_IDS
    if isinstance(argument, list | tuple | dict | set):
        return OF_LISTS
    return OF_NUMBERS if is_number(argument) else {}

"""Circumstances: what the cases have in common in which an answer is right."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.comparing import equal, is_number, show

Case = tuple[Any, ...]
Holds = Callable[[Case], bool]

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


def circumstance(
    known: Mapping[str, Any],
    cases: Sequence[Case],
    is_right: Sequence[bool],
    elsewhere: Callable[[Case], bool | None] = lambda case: None,
) -> str:
    """Where an answer is right, if it is in the one half of the cases and not in the other.

    Of a single number it is the beginning of a sentence, for that says little by itself.

    ``elsewhere`` says of further cases whether it is right there, or nothing where they make no
    sense: what holds of the cases by chance is not told.

    >>> cases = [("dot", 2), ("dot", 3), ("general", 3)]
    >>> circumstance({"score": str, "d": int}, cases, [True, True, False])
    "it is right where `score` is 'dot', and wrong in all other cases."
    """
    if len(set(is_right)) < 2:
        return ""
    for said, holds in _circumstances(known, cases, is_right):
        further = (elsewhere(case) for case in _mixed(cases) if holds(case))
        if _hold(holds, cases) == list(is_right) and False not in further:
            return f"it is right where {said}, and wrong in all other cases."
    for said, holds in _values(known, cases, is_right):
        further = (elsewhere(case) for case in _mixed(cases) if holds(case))
        if set(further) - {None} == {True}:
            return f"it is right only where {said}; "
    return ""


def _hold(holds: Holds, cases: Sequence[Case]) -> list[bool]:
    """In which cases something holds; in none where it makes no sense for some of them."""
    try:
        return list(map(holds, cases))
    except Exception:
        return []


def _mixed(cases: Sequence[Case]) -> Iterator[Case]:
    """Every case, with an argument of another that is like its own."""
    for case, other in itertools.permutations(cases, 2):
        for place, (own, taken) in enumerate(zip(case, other, strict=True)):
            if type(own) is type(taken) and getattr(own, "shape", 0) == getattr(taken, "shape", 0):
                mixed = (*case[:place], taken, *case[place + 1 :])
                if not equal(mixed, case):
                    yield mixed


def _circumstances(
    known: Mapping[str, Any], cases: Sequence[Case], is_right: Sequence[bool]
) -> Iterator[tuple[str, Holds]]:
    """What may hold of the arguments, and of which cases it does."""
    for place, name in enumerate(known):
        given = [case[place] for case in cases]
        if all(isinstance(x, bool | str) for x in given):
            good = list(dict.fromkeys(x for x, right in zip(given, is_right, strict=True) if right))
            yield f"`{name}` is {' or '.join(map(show, good))}", partial(_is_one_of, place, good)
        for said, holds in _properties(given[0]).items():
            yield said.format(name), partial(_is_so, place, holds)
        for other, second in enumerate(known):
            pairs = [(case[place], case[other]) for case in cases]
            if other > place and all(is_number(x) and is_number(y) for x, y in pairs):
                yield f"`{name}` is `{second}`", partial(_are_equal, place, other)


def _values(
    known: Mapping[str, Any], cases: Sequence[Case], is_right: Sequence[bool]
) -> Iterator[tuple[str, Holds]]:
    """The one number that an argument is in the right cases, and in no others."""
    for place, name in enumerate(known):
        if all(is_number(case[place]) for case in cases):
            right = (case[place] for case, good in zip(cases, is_right, strict=True) if good)
            value = next(right)
            holds = partial(_is_one_of, place, [value])
            if _hold(holds, cases) == list(is_right):
                yield f"`{name}` is {show(value)}", holds


def _is_one_of(place: int, values: Sequence[Any], case: Case) -> bool:
    return case[place] in values


def _is_so(place: int, holds: Callable[[Any], bool], case: Case) -> bool:
    return bool(holds(case[place]))


def _are_equal(place: int, other: int, case: Case) -> bool:
    return bool(case[place] == case[other])


def _properties(argument: Any) -> Mapping[str, Callable[[Any], bool]]:
    if isinstance(argument, Tensor):
        if argument.is_floating_point():
            return {}
        return OF_TRUTHS if argument.dtype == torch.bool else OF_IDS
    if isinstance(argument, list | tuple | dict | set):
        return OF_LISTS
    return OF_NUMBERS if is_number(argument) else {}

"""Influence: what a result depends on, found by changing one number after the other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.course.changes import is_sequence
from annotated_transformer.course.comparing import Failure, equal, is_number

MOST = 8
"""How many changes of an argument are tried at most."""

Case = tuple[Any, ...]
Give = Callable[[Case], Any]


def without_influence(
    answer: Give, reference: Give, known: Mapping[str, Any], cases: Sequence[Case]
) -> str:
    """Which argument no answer depends on, though right results do; or nothing.

    >>> without_influence(lambda c: c[0], lambda c: c[0] + c[1], {"a": 0, "b": 0}, [(1.0, 2.0)])
    'the result does not depend on `b`.'
    """
    for place, name in enumerate(known):
        missed = [_missed(answer, reference, case, place) for case in cases]
        if None not in missed and sum(filter(None, missed)) > 1:
            return f"the result does not depend on `{name}`."
    return ""


def _missed(answer: Give, reference: Give, case: Case, place: int) -> int | None:
    """How many changes of an argument must change the answer, if none of them does."""
    got, want, needed = answer(case), reference(case), 0
    for other in (other for _, others in _changed(case, place) for other in others):
        result, right = answer(other), reference(other)
        if isinstance(result, Failure) or isinstance(right, Failure) or not equal(result, got):
            return None
        needed += not equal(right, want)
    return None if isinstance(got, Failure) else needed


def wrong_influence(answer: Give, reference: Give, known: Mapping[str, Any], case: Case) -> str:
    """Which number counts in one case and must not, or has to and does not; or nothing.

    It is told of floats only: where a result jumps, a change may be too small to be seen.
    """
    got, want = answer(case), reference(case)
    if isinstance(got, Failure) or got is None or not _is_smooth(want):
        return ""
    too_little = ""
    for place, name in enumerate(known):
        for where, others in _changed(case, place):
            counts = must = False
            for other in others:
                result, right = answer(other), reference(other)
                if isinstance(result, Failure) or isinstance(right, Failure):
                    return ""
                counts, must = counts or not equal(result, got), must or not equal(right, want)
            if counts and not must:
                return f"`{name}{where}` changes the result, and must not."
            if must and not counts:
                too_little = too_little or f"`{name}{where}` must change the result, and does not."
    return too_little


def _is_smooth(result: Any) -> bool:
    if is_sequence(result):
        return all(map(_is_smooth, result))
    if isinstance(result, Tensor):
        return result.is_floating_point()
    return isinstance(result, float)


def _changed(case: Case, place: int) -> Iterator[tuple[str, list[Case]]]:
    """Where a number of an argument stands, and the cases in which it is another."""
    places = list(_places(case[place]))
    for index in islice(places, 0, None, 1 + len(places) // MOST):
        changed = [_replaced(case, place, index, change) for change in (0.73, -31.9)]
        yield str(list(index)) * bool(index), [other for other in changed if not equal(other, case)]


def _places(argument: Any) -> Iterator[tuple[int, ...]]:
    """The places of the numbers in an argument."""
    if isinstance(argument, Tensor):
        yield from (tuple(index) for index in torch.ones(argument.shape).nonzero().tolist())
    elif isinstance(argument, list):
        yield from ((i,) for i, entry in enumerate(argument) if is_number(entry))
    elif is_number(argument) or isinstance(argument, bool):
        yield ()


def _replaced(case: Case, place: int, index: tuple[int, ...], change: float) -> Case:
    given = list(deepcopy(case))
    if not index:
        given[place] = _other(given[place], change)
    elif isinstance(given[place], Tensor):
        given[place][index] = _other(given[place][index].item(), change)
    else:
        given[place][index[0]] = _other(given[place][index[0]], change)
    return tuple(given)


def _other(number: Any, change: float) -> Any:
    """Another number of the same kind: whole ones go one or two up."""
    if isinstance(number, bool):
        return not number
    return number + change if isinstance(number, float) else number + (1 if change > 0 else 2)

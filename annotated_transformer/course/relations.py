"""Relations: what a wrong result is of the right one, where it is the same in every case."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from annotated_transformer.course.changes import ASKED_FOR, RELATIONS, is_sequence
from annotated_transformer.course.comparing import equal, show
from annotated_transformer.course.quantities import flat

Results = Sequence[Any]


def relation(answers: Results, right: Results, whole: bool = False) -> str:
    """What all the answers are of the right ones, as a sentence; or nothing.

    >>> relation([-1.0, -4.5], [1.0, 4.5])
    'the sign is wrong: this is the negative of what is asked for.'
    >>> relation([[2, 8], [2, 10]], [[2, 9], [2, 11]])
    'entry 2 of 2: this is 1 too few in every case.'
    >>> relation([0.5, 1.25, 1.5], [1.0, 2.5, 3.0])
    'this is 0.5 times what is asked for, in every case.'
    """
    if len(right) < 2:
        return ""
    for sentence, change in RELATIONS.items():
        if holds(answers, right, change, whole):
            return sentence
    for sentence, change in ASKED_FOR.items():
        if holds(right, answers, change, whole):
            return sentence
    return _factor(answers, right) or _entries(answers, right, whole)


def holds(answers: Results, right: Results, change: Callable[[Any], Any], whole: bool) -> bool:
    """Whether the answers come from the right ones by a change."""
    try:
        changed = list(map(change, right))
    except Exception:  # the change makes no sense for results of this kind
        return False
    pairs = zip(answers, changed, strict=True)
    return all(y is not None and equal(x, y, whole) for x, y in pairs)


def _factor(answers: Results, right: Results) -> str:
    """That the answers are always the same number of times as large."""
    try:
        pairs = [(flat(x), flat(y)) for x, y in zip(answers, right, strict=True)]
        got, want = (torch.cat(side) for side in zip(*pairs, strict=True))
    except Exception:  # they are no numbers, or not as many
        return ""
    known = want.abs() > 1e-4
    if len(got) != len(want) or len(set(want[known].tolist())) < 3:
        return ""
    if not equal(got[~known], want[~known]):
        return ""
    factors = got[known] / want[known]
    first = float(factors[0])
    if not equal(factors, 0 * factors + first) or equal(first, 1.0) or abs(first) < 1e-4:
        return ""
    return f"this is {show(first)} times what is asked for, in every case."


def _entries(answers: Results, right: Results, whole: bool) -> str:
    """Which entries of a list of always the same length are wrong, if others are always right."""
    if places := swapped_entries(answers, right, whole):
        return "entries {} and {} are swapped.".format(*places)
    pairs = columns(answers, right)
    wrong = wrong_columns(pairs, whole)
    if len(wrong) != 1:
        return ""
    said = relation(*pairs[wrong[0] - 1], whole)
    return f"entry {wrong[0]} of {len(pairs)}: {said}" if said else ""


def swapped_entries(answers: Results, right: Results, whole: bool = False) -> list[int]:
    """Which two entries have changed places in every case, if all others are right; or nothing.

    >>> swapped_entries([(1, 9, 4), (2, 7, 5)], [(9, 1, 4), (7, 2, 5)])
    [1, 2]
    """
    pairs = columns(answers, right)
    wrong = wrong_columns(pairs, whole)
    if len(wrong) != 2:
        return []
    (x, y), (other_x, other_y) = (pairs[i - 1] for i in wrong)
    return wrong if equal([x, other_x], [other_y, y], whole) else []


def columns(answers: Results, right: Results) -> list[tuple[list[Any], list[Any]]]:
    """For each entry what it is in all the answers, and what is right; all are as long."""
    if not all(map(is_sequence, [*answers, *right])) or len({*map(len, [*answers, *right])}) > 1:
        return []
    columns = (zip(*results, strict=True) for results in (answers, right))
    return [(list(x), list(y)) for x, y in zip(*columns, strict=True)]


def wrong_columns(pairs: list[tuple[list[Any], list[Any]]], whole: bool) -> list[int]:
    """The numbers of the entries that are wrong somewhere."""
    return [i for i, (x, y) in enumerate(pairs, start=1) if not equal(x, y, whole)]

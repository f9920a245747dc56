"""Relations: what a wrong result is of the right one, where it is the same in every case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.changes import ASKED_FOR, RELATIONS, is_sequence
from transformer_workbook.judge.comparing import brief, equal, is_number, is_truth, show
from transformer_workbook.judge.quantities import flat

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
    if same := always_the_same(answers, right):
        return f"this is {same} in every case."
    for sentence, change in RELATIONS.items():
        if holds(answers, right, change, whole):
            return sentence
    for sentence, change in ASKED_FOR.items():
        if _alike(zip(map(change, answers), right, strict=True), whole):
            return sentence
    return _factor(answers, right) or _entries(answers, right, whole)


def holds(
    answers: Results, right: Iterable[Any], change: Callable[[Any], Any], whole: bool
) -> bool:
    """Whether the answers come from the right ones by a change."""
    return _alike(zip(answers, map(change, right), strict=True), whole)


def _alike(pairs: Iterable[tuple[Any, Any]], whole: bool) -> bool:
    """Whether both of each pair are the same, and there is something."""
    try:
        return all(x is not None is not y and equal(x, y, whole) for x, y in pairs)
    except Exception:  # the change makes no sense for results of this kind
        return False


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


def two_mistakes(
    answers: Results, mistakes: Mapping[str, Iterable[Any]], whole: bool = False
) -> str:
    """Which mistake, by what it gives, is made, and what is wrong with its result besides."""
    if not all(map(_is_continuous, answers)):
        return ""
    for sentence, results in mistakes.items():
        for besides, change in RELATIONS.items():
            if holds(answers, results, change, whole):
                return f"two mistakes at once: {sentence} Besides, {besides}"
    return ""


def other_kind(answers: Results, right: Results) -> str:
    """What the answers are, where something of another kind is asked for in every case.

    >>> other_kind([torch.ones(2, 3)], [(torch.ones(2), torch.ones(3), torch.ones(4))])
    'this is a tensor; a tuple of 3 is asked for.'
    """
    kinds = {(_kind(x), _kind(y)) for x, y in zip(answers, right, strict=True)}
    (got, want), *others = kinds
    if others or not got or not want or is_sequence(answers[0]) == is_sequence(right[0]):
        return ""
    if all(_size(x) == _size(y) for x, y in zip(answers, right, strict=True)):
        return ""  # a tensor may stand for a list
    return f"this is {got}; {want} is asked for."


def _kind(result: Any) -> str:
    if is_sequence(result):
        return f"a {type(result).__name__} of {len(result)}"
    if is_number(result):
        return "a number"
    return "a tensor" if isinstance(result, Tensor) and result.dim() else ""


def _size(result: Any) -> int:
    return len(result) if _kind(result) != "a number" else -1


def always_the_same(answers: Results, right: Results) -> str:
    """What is given in every case, if it should not be: a value, or one number everywhere.

    Whatever else this is of the right results, as what they are when rounded, it is by chance.

    >>> always_the_same([[], []], [[3], [4, 5]])
    '[]'
    >>> always_the_same([torch.zeros(2), torch.zeros(3)], [torch.rand(2), torch.rand(3)])
    '0 everywhere'
    """
    first = answers[0]
    if len(answers) == 1 or equal([right[0]] * len(right), right):
        return ""
    plain = isinstance(first, str | list | tuple) or is_number(first) or is_truth(first)
    try:
        if plain and len({show(result, 12) for result in answers}) == 1:
            return brief(first)  # what is equal up to rounding need not be the same
        numbers = torch.cat([flat(result) for result in answers])
        first = float(numbers[0])
        return f"{show(first)} everywhere" if (numbers == first).all() else ""
    except Exception:  # they are no numbers, or a reader's objects, which may raise at anything
        return ""


def _is_continuous(result: Any) -> bool:
    """Whether these are floats, of which no two are the same by chance."""
    entries = result if isinstance(result, list | tuple) else [result]
    tensors = [x for x in entries if isinstance(x, Tensor)]
    others = [x for x in entries if not isinstance(x, Tensor)]
    return all(x.is_floating_point() for x in tensors) and all(type(x) is float for x in others)

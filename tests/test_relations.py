"""Relations: a wrong answer that is always the same thing of the right one is told what it is."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import torch

from transformer_workbook.judge import normal
from transformer_workbook.judge.diagnosis.relations import (
    ASKED_FOR,
    RELATIONS,
    other_kind,
    relation,
)
from transformer_workbook.judge.exercises import Derivation, Exercise
from transformer_workbook.judge.sentences import Way

NUMBERS = [0.25, 3.5, 6.25]
FRACTIONS = [0.2537, -3.5219, 6.7253]
VECTORS = [normal(3, seed=1).abs() + 1, normal(4, seed=2).abs() + 1]
MATRICES = [normal(1, 3, 1, seed=3), normal(1, 4, 1, seed=4)]
TABLES = [normal(2, 3, seed=5), normal(3, 4, seed=6)]
TRUTHS = [torch.tensor([True, False, False]), torch.tensor([False, True])]


@pytest.mark.parametrize("way", [*RELATIONS, *ASKED_FOR])
def test_every_relation_is_told_by_its_own_name(way: Way) -> None:
    """For one kind of result at least: others may have an axis, or an order, too few for it."""
    holes = [torch.where(x > 0, x, torch.nan) for x in TABLES]
    lists = [[3, 1, 2, 0], [7, 9]], [[4, 9], [7, 2, 3]]
    pairs = ([(x, x + 1)[::end] for x in VECTORS] for end in (1, -1))
    entries = [[torch.tensor(x) for x in FRACTIONS], [torch.tensor(x) for x in NUMBERS]]
    kinds = FRACTIONS, NUMBERS, VECTORS, MATRICES, TABLES, TRUTHS, holes, entries, *lists, *pairs
    told = set()
    for given in kinds:
        with suppress(Exception):  # the change makes no sense for results of this kind
            changed = [way.how(x) for x in given]
            told.add(relation(changed, given) if way in RELATIONS else relation(given, changed))
    assert way.says in told


@pytest.mark.parametrize("way", [*RELATIONS, *ASKED_FOR])
def test_no_warning_of_torch_reaches_a_reader(way: Way) -> None:
    """Also for results for which the change makes no sense."""
    kinds = [0.5, 3, True, [], [1.5], (1, 2), "ab", *VECTORS, *MATRICES, *TABLES, *TRUTHS]
    kinds += [x.flatten()[0] for x in (*VECTORS, *TRUTHS)] + [torch.empty(0), torch.empty(0, 2)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for result in kinds:
            with suppress(Exception):
                way.how(result)
    assert [str(warning.message) for warning in told] == []


@pytest.mark.parametrize(
    ("answers", "right", "told"),
    [
        ([1.0, 2.5, 3.0], [0.5, 1.25, 1.5], "this is 2 times what is asked for, in every case."),
        ([[1, 9], [2, 7]], [[1, 8], [2, 6]], "entry 2 of 2: this is 1 too many in every case."),
        ([(1, 9), (2, 7)], [(9, 1), (7, 2)], "the order is reversed: the last comes first."),
        ([(1, 9, 4), (2, 7, 4)], [(9, 1, 4), (7, 2, 4)], "entries 1 and 2 are swapped."),
        ([1.0, 2.5, 3.1], [0.5, 1.25, 1.5], ""),  # not in every case
        ([0.8, 0.8], [0.4, 0.4], ""),  # one number is no proportion
        ([-1.0], [1.0], ""),  # one case is none, either
        ([[1, 9], [2, 7, 1]], [[1, 8], [2, 6, 1]], ""),
        (["ab", "b"], ["b", "ab"], ""),
        ([None, None], [1.0, 2.0], ""),
    ],
)
def test_what_always_holds_is_told_and_nothing_else(answers: Any, right: Any, told: str) -> None:
    assert relation(answers, right) == told


def exercise(kind: type[Exercise], reference: Callable[..., Any], *cases: Any) -> Exercise:
    return kind(reference=reference, given=[], cases=cases)


def share(part: float, whole: float) -> float:
    """Which share of the whole is a part?"""
    return part / whole


def test_swapped_arguments_are_told_by_their_names() -> None:
    asked = exercise(Exercise, share, (1.0, 4.0), (3.0, 5.0), (2.0, 7.0))
    assert asked(lambda a, b: b / a).mistake == "part and whole are swapped."
    assert "swapped" not in asked(lambda a, b: a * b).mistake


def test_a_relation_is_told_of_the_first_wrong_step() -> None:
    def steps(x: float) -> tuple[float, float]:
        """The square, and the square and one."""
        return x * x, x * x + 1

    asked = exercise(Derivation, steps, (1.5,), (3.0,), (4.0,))
    sentence = "step 1: what is asked for is the square of this."
    assert asked(lambda x: (x, x * x + 1)).mistake != sentence  # there is none of that name
    assert asked(lambda x: (-x * x, x)).mistake.startswith("step 1: the sign is wrong")
    assert asked(lambda x: (x * x, -x * x - 1)).mistake.startswith("step 2: the sign is wrong")


@pytest.mark.parametrize(
    ("answers", "right", "told"),
    [
        ([torch.ones(2, 3)], [(1.0, 2.0, 4.0)], "this is a tensor; a tuple of 3 is asked for."),
        ([7.0, 8.0], [[1.0, 2.0], [3.0, 4.0]], "this is a number; a list of 2 is asked for."),
        ([(1, 2)], [normal(3, seed=1)], "this is a tuple of 2; a tensor is asked for."),
        ([torch.ones(3, 2)], [(1.0, 2.0, 4.0)], ""),  # it may stand for them
        ([[1, 2]], [(1, 2, 3)], ""),
        ([7.0, [1.0]], [[1.0, 2.0], [3.0, 4.0]], ""),
    ],
)
def test_another_kind_of_result_is_told(answers: Any, right: Any, told: str) -> None:
    assert other_kind(answers, right) == told

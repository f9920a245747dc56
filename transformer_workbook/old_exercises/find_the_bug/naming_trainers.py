"""Find the bug: which trainer has which mistake, and why not another."""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.faulty.trainers import Part, train
from transformer_workbook.judge.comparing import form
from transformer_workbook.old_exercises.old_question import Question

TRAINERS = {"A": 3, "B": 1, "C": 4, "D": 2}
"""The trainer that has the mistake of each letter; the chapter says in words which it is."""


def _part(seed: int, n: int = 12) -> Part:
    return normal(n, 3, seed=seed), normal(n, seed=seed + 100)


def _cut(*places: int) -> list[list[Part]]:
    """Three updates on the same examples, cut into parts at these places."""
    edges = [0, *places, 12]
    return [[(x[a:b], y[a:b]) for a, b in pairwise(edges)] for x, y in map(_part, range(3))]


WHOLE, VAL = _cut(), _part(7)


def _weights(number: int, updates: list[list[Part]], val: Part = VAL) -> Tensor:
    return train(number, updates, val).weights


def _loss(number: int, average: bool) -> float:
    return train(number, WHOLE, VAL, average).val_loss


SIGNS: list[tuple[Callable[[int], bool], str, str]] = [
    (
        lambda number: torch.allclose(_weights(number, WHOLE), _weights(number, WHOLE, _part(8))),
        "learns the same with another validation set",
        "learns something else with another validation set",
    ),
    (
        lambda number: _loss(number, average=True) != _loss(number, average=False),
        "has another validation loss with the average of the weights than without",
        "has the same validation loss with the average of the weights and without",
    ),
    (
        lambda number: torch.allclose(_weights(number, _cut(4, 8)), _weights(number, _cut(6))),
        "learns the same from two equal parts and from three",
        "learns something else from three equal parts than from two",
    ),
    (
        lambda number: torch.allclose(_weights(number, _cut(2)), _weights(number, _cut(6))),
        "learns the same from two equal parts and from two unequal ones",
        "learns something else from two unequal parts than from two equal ones",
    ),
]
"""Each test, and what a trainer does that passes it, or fails it."""


@cache
def _passes(sign: int, number: int) -> bool:
    return SIGNS[sign][0](number)


def _refute(number: int, suspect: int) -> str:
    """What tells a trainer from the one for which it was taken."""
    for sign, (_, passing, failing) in enumerate(SIGNS):
        would, does = _passes(sign, suspect), _passes(sign, number)
        if would != does:
            words = (passing if would else failing), (passing if does else failing)
            return f"a trainer with that mistake {words[0]}; trainer {number} {words[1]}."
    raise AssertionError(f"no test tells trainer {suspect} from trainer {number}")


@Question
def name_the_trainers(answer: Any) -> str:
    """Which of four trainers has which of four mistakes?"""
    if not isinstance(answer, Mapping) or not {*answer} <= {*TRAINERS.values()}:
        return f'a dictionary is asked for, as in {{1: "A", 2: "B"}}, not {form(answer)}.'
    for number, letter in sorted(answer.items()):
        suspect = TRAINERS.get(str(letter).strip().upper())
        if suspect is None:
            return f"there is no mistake {letter!r}; they have the letters A to D."
        if suspect != number:
            return f"{number} is not {letter}: {_refute(number, suspect)}"
    missing = {*TRAINERS.values()} - {*answer}
    return f"trainer {min(missing)} has no letter yet." if missing else ""

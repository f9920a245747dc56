"""Answers by readers who saw only the statement of an exercise and its stub, right and wrong ones.

The files beside this one have the names of the chapters. What a wrong answer's reader got wrong is said
in a few words. They measure the catalogue of mistakes: of the 348 wrong ones 343 are named, none is
accepted, and all 116 right ones pass. Who adds mistakes does not look at them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

A = TypeVar("A")


@dataclass(frozen=True)
class Answer:
    """One answer to one exercise."""

    exercise: str
    answer: Any
    slip: str = ""
    """What is wrong with it; nothing, if it is right."""


ANSWERS: list[Answer] = []
"""Those of the chapters that were imported."""


def right(exercise: str) -> Callable[[A], A]:
    """Mark a right answer; a decorator."""
    return wrong(exercise, "")


def wrong(exercise: str, slip: str) -> Callable[[A], A]:
    """Mark a wrong answer; a decorator."""

    def keep(answer: A) -> A:
        ANSWERS.append(Answer(exercise, answer, slip))
        return answer

    return keep

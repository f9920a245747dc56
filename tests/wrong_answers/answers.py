"""Answers by readers who saw only the statement of an exercise and its stub, right and wrong ones.

The files beside this one have the names of the chapters. What a wrong answer's reader got wrong is said
in a few words. Half of the wrong answers, drawn by a hash, is *sealed*: whoever adds mistakes to
the catalogue looks at the open half alone, so that the sealed one can say how much was gained.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from annotated_transformer.course.exercises import CHAPTERS

A = TypeVar("A")


@dataclass(frozen=True)
class Answer:
    """One answer to one exercise."""

    exercise: str
    answer: Any
    slip: str = ""
    """What is wrong with it; nothing, if it is right."""

    @property
    def is_sealed(self) -> bool:
        """Whether it belongs to the half that is only counted."""
        chapter = next(stem for stem, names in CHAPTERS.items() if self.exercise in names)
        name = f"{chapter}{self.exercise}{self.slip}"
        return sha256(name.encode()).digest()[0] % 2 == 0


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

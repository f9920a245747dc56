"""Wrong answers by readers who saw only the statement of an exercise and its stub.

They are in ``chapters/CHAPTER/held_out.py``, where there are any. What a wrong answer's reader got
wrong is said in a few words. They measured the catalogue of mistakes: of 348 wrong ones 343 were
named, none was accepted, and all 116 right ones passed. 243 of the wrong ones gave in every case
what a mistake of the catalogue gives, and a verdict depends on nothing else: they are told by the
test of that mistake, and stand there no longer; nor do the right ones, which come back in the form
of the reference (others are in other_answers.py). Who adds mistakes does not look at the rest.
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
    slip: str
    """What is wrong with it."""


ANSWERS: list[Answer] = []
"""Those of the chapters that were imported."""


def wrong(exercise: str, slip: str) -> Callable[[A], A]:
    """Mark a wrong answer; a decorator."""

    def keep(answer: A) -> A:
        ANSWERS.append(Answer(exercise, answer, slip))
        return answer

    return keep

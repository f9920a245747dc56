"""Old questions."""

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from transformer_workbook.judge.comparing import form, is_number, show
from transformer_workbook.judge.tasks import Task, Verdict


class Question(Task):
    def __init__(self, judge):
        self.judge = judge
        self.name = judge.__name__
        self.statement = (judge.__doc__ or "").partition("\n")[0]

    def check(self, answer):
        if answer is None:
            return Verdict("not attempted")
        try:
            mistake = self.judge(answer)
        except OverflowError:
            mistake = "the number is too large."
        return Verdict("wrong", mistake) if mistake else Verdict("right")


SLIPS: dict[str, Callable[[float], float]] = {
    "the sign is wrong.": lambda x: -x,
    "this is the exponent; 10 to the power of it is asked for.": math.log10,
    "this is in per cent; the number itself is asked for.": lambda x: 100 * x,
    "this is a hundredth of what is asked for.": lambda x: x / 100,
    "this is upside down: 1 divided by what is asked for.": lambda x: 1 / x,
    "this is the square of what is asked for.": lambda x: x * x,
    "this is the root of what is asked for.": math.sqrt,
    "this is twice what is asked for.": lambda x: 2 * x,
    "this is half of what is asked for.": lambda x: x / 2,
}
"""What a wrong number may be of the right one."""


def by_number(
    answer: Any,
    right: int | float,
    replies: Mapping[int | float, str] | None = None,
    within: float = 1e-3,
    among: Sequence[int | float] = (),
) -> str:
    """What is wrong with a number; ``within`` is relative. There may be a few to choose from."""
    if not is_number(answer):
        return f"a number is asked for, not {form(answer)}."
    for value, reply in [(right, ""), *(replies or {}).items()]:
        if abs(float(answer) - value) <= within * abs(value):
            return reply
    for slip, change in SLIPS.items():
        with contextlib.suppress(ValueError, ZeroDivisionError):  # there is no such number
            if abs(float(answer) - change(right)) <= within * abs(change(right)):
                return slip
    if among and not any(abs(float(answer) - value) <= within * abs(value) for value in among):
        return f"{show(float(answer))} is none to choose from; they are {show(tuple(among))[1:-1]}."
    return f"{show(float(answer))} is too {'large' if answer > right else 'small'}."


def by_word(answer: Any, right: str, replies: Mapping[str, str]) -> str:
    """What is wrong with a word or letter; there is a reply to every wrong one."""
    words = [right, *replies]
    said = str(answer).strip().casefold()
    if said not in [word.casefold() for word in words]:
        return f"{answer!r} is none of the answers; they are {', '.join(sorted(words))}."
    return next((reply for word, reply in replies.items() if word.casefold() == said), "")


def by_letters(answer: Any, right: Iterable[str], replies: Mapping[str, str]) -> str:
    """What is wrong with a choice of letters: the first that is too much, or missing.

    ``replies`` says of every letter why it belongs to the choice, or why not.
    """
    try:
        letters = "".join(map(str, answer))
    except TypeError:  # it has no entries
        letters = None
    if letters is None or isinstance(answer, Mapping):
        return f"letters are asked for, as in 'AC', not {form(answer)}."
    said = {letter for letter in letters.upper() if letter.isalnum()}
    unknown = said - replies.keys()
    if unknown:
        return f"there is no {min(unknown)}; the letters are {', '.join(replies)}."
    wrong = min(said ^ set(right), default="")
    belongs = "does not belong" if wrong in said else "belongs"
    return f"{wrong} {belongs} to it: {replies[wrong]}" if wrong else ""

"""Questions: judge a value that a reader found by an experiment or by reasoning.

The replies to wrong values are rows of the table beside the question. ``value`` is the wrong value,
as an expression of ``right``, the right one; ``when`` is a condition on ``answer`` that
is tried before all others, ``otherwise`` one that is tried after them; ``letter`` or ``word`` is
the choice. ``values`` are expressions for the placeholders in a sentence. A custom judge takes its
sentences from the rows by ``name``.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from transformer_workbook.judge.catalogue import rows_of
from transformer_workbook.judge.comparing import form, is_number, show
from transformer_workbook.judge.diagnosis.relations import POWERS
from transformer_workbook.judge.sentences import Way, first_said, said
from transformer_workbook.judge.tasks import Task, Verdict

Rows = list[dict[str, Any]]
Say = Callable[..., str]


class Question(Task):
    """A question that asks for a value, found by an experiment or by reasoning."""

    def __init__(self, judge: Callable[[Any], str | Verdict], name: str, statement: str) -> None:
        self.judge, self.name, self.statement = judge, name, statement

    def verdict(self, answer: Any) -> Verdict:
        """Judge a value; ``None`` means that there is no answer yet."""
        if answer is None:
            return Verdict("not attempted")
        if is_number(answer) and not _is_a_float(answer):
            return Verdict("wrong", said("the number is too large."))
        mistake = self.judge(answer)
        if isinstance(mistake, Verdict):
            return mistake
        return Verdict("wrong", mistake) if mistake else Verdict("right")


def _is_a_float(number: Any) -> bool:
    try:
        float(number)
    except OverflowError:
        return False
    return True


def question(judge: Callable[[Any, Say], str | Verdict]) -> Question:
    """Make a question from a custom judge; a decorator.

    ``judge(answer, say)`` returns what is wrong with an answer, or "", or a verdict.
    ``say(name, **values)`` is the sentence of that name, with its placeholders filled.
    """

    def judged(answer: Any) -> str | Verdict:
        sentences = {row["name"]: row["says"] for row in rows_of(judge)}
        return judge(answer, lambda name, **values: sentences[name].format(**values))

    return Question(judged, judge.__name__, _statement(judge))


def number(
    within: float = 1e-3, among: Sequence[int | float] = ()
) -> Callable[[Callable[[], int | float]], Question]:
    """Make a question from a function that returns the right number; a decorator.

    ``within`` is relative. There may be a few numbers to choose from.
    """

    def made(find: Callable[[], int | float]) -> Question:
        def judged(answer: Any) -> str:
            if not is_number(answer):
                return said("a number is asked for, not {got}.", got=form(answer))
            right, rows = find(), rows_of(find)
            names = vars(sys.modules[find.__module__]) | {"right": right, "answer": float(answer)}
            of = partial(_first_that_holds, rows, names)
            if sentence := of("when"):
                return sentence
            if abs(float(answer) - right) <= within * abs(right):
                return ""
            sentence = of("value", within) or _slip(float(answer), right, within)
            return sentence or of("otherwise") or _too_large_or_small(answer, right, within, among)

        return Question(judged, find.__name__, _statement(find))

    return made


def letters(find: Callable[[], Iterable[str]]) -> Question:
    """Make a question from a function that returns the letters to choose; a decorator.

    The rows say of every letter why it belongs to the choice, or why not.
    """

    def judged(answer: Any) -> str:
        names = vars(sys.modules[find.__module__])
        replies = {row["letter"]: _sentence(row, names) for row in rows_of(find)}
        return by_letters(answer, find(), replies)

    return Question(judged, find.__name__, _statement(find))


def word(find: Callable[[], str]) -> Question:
    """Make a question from a function that returns the right word; a decorator.

    The rows reply to every wrong one.
    """

    def judged(answer: Any) -> str:
        return by_word(answer, find(), {row["word"]: row["says"] for row in rows_of(find)})

    return Question(judged, find.__name__, _statement(find))


def _statement(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").partition("\n")[0]


def _first_that_holds(
    rows: Rows, names: Mapping[str, Any], kind: str, within: float | None = None
) -> str:
    """Return the sentence of the first row whose condition holds for the answer, or ""."""
    for row in rows:
        if kind in row:
            found = eval(row[kind], dict(names))
            if within is not None:
                found = abs(names["answer"] - found) <= within * abs(found)
            if found:
                return _sentence(row, names)
    return ""


def _sentence(row: Mapping[str, Any], names: Mapping[str, Any]) -> str:
    """Fill the placeholders of a row's sentence with the values of its expressions."""
    values = {name: eval(value, dict(names)) for name, value in row.get("values", {}).items()}
    return row["says"].format(**values) if values else row["says"]


SLIPS: tuple[Way, ...] = (
    Way("the sign is wrong.", lambda x: -x),
    Way("this is the exponent; 10 to the power of it is asked for.", math.log10),
    Way("this is in per cent; the number itself is asked for.", lambda x: 100 * x),
    Way("this is a hundredth of what is asked for.", lambda x: x / 100),
    *POWERS,
    Way("this is twice what is asked for.", lambda x: 2 * x),
    Way("this is half of what is asked for.", lambda x: x / 2),
)
"""How a wrong number may come from the right one."""


def _slip(answer: float, right: int | float, within: float) -> str:
    """Say how a wrong number comes from the right one."""
    return first_said(
        SLIPS, lambda change: abs(answer - change(right)) <= within * abs(change(right))
    )


def _too_large_or_small(
    answer: Any, right: int | float, within: float, among: Sequence[int | float]
) -> str:
    got = show(float(answer))
    if among and not any(abs(float(answer) - value) <= within * abs(value) for value in among):
        choice = show(tuple(among))[1:-1]
        return said("{got} is none to choose from; they are {choice}.", got=got, choice=choice)
    if answer > right:
        return said("{got} is too large.", got=got)
    return said("{got} is too small.", got=got)


def by_word(answer: Any, right: str, replies: Mapping[str, str]) -> str:
    """Say what is wrong with a word or letter; there is a reply to every wrong one."""
    words = [right, *replies]
    chosen = str(answer).strip().casefold()
    if chosen not in [word.casefold() for word in words]:
        choice = ", ".join(sorted(words))
        return said("{got!r} is none of the answers; they are {choice}.", got=answer, choice=choice)
    return next((reply for word, reply in replies.items() if word.casefold() == chosen), "")


def by_letters(answer: Any, right: Iterable[str], replies: Mapping[str, str]) -> str:
    """Say what is wrong with a choice of letters: the first one too many, or missing.

    ``replies`` says of every letter why it belongs to the choice, or why not.
    """
    try:
        letters = "".join(map(str, answer))
    except TypeError:  # it is not iterable
        letters = None
    if letters is None or isinstance(answer, Mapping):
        return said("letters are asked for, as in 'AC', not {got}.", got=form(answer))
    chosen = {letter for letter in letters.upper() if letter.isalnum()}
    if unknown := chosen - replies.keys():
        letter, choice = min(unknown), ", ".join(replies)
        return said("there is no {letter}; the letters are {choice}.", letter=letter, choice=choice)
    if not (wrong := min(chosen ^ set(right), default="")):
        return ""
    if wrong in chosen:
        return said("{letter} does not belong to it: {why}", letter=wrong, why=replies[wrong])
    return said("{letter} belongs to it: {why}", letter=wrong, why=replies[wrong])

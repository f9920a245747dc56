"""The judge: checks whether an answer is correct, and finds the mistake in a wrong one.

Import from here.
"""

from transformer_workbook.judge.cases import (
    loaded,
    normal,
    numbers_for,
    put_to_work,
    random_cases,
)
from transformer_workbook.judge.catalogue import Mistake
from transformer_workbook.judge.comparing import (
    Failure,
    brief,
    difference,
    equal,
    form,
    is_number,
    show,
)
from transformer_workbook.judge.copying import copied
from transformer_workbook.judge.exercises import Derivation, Exercise, derivation, exercise
from transformer_workbook.judge.questions import Question, letters, number, question, word
from transformer_workbook.judge.tasks import Task, Verdict
from transformer_workbook.judge.trials import Unfit, attempt

__all__ = [
    "Derivation",
    "Exercise",
    "Failure",
    "Mistake",
    "Question",
    "Task",
    "Unfit",
    "Verdict",
    "attempt",
    "brief",
    "copied",
    "derivation",
    "difference",
    "equal",
    "exercise",
    "form",
    "is_number",
    "letters",
    "loaded",
    "normal",
    "number",
    "numbers_for",
    "put_to_work",
    "question",
    "random_cases",
    "show",
    "word",
]

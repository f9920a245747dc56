"""What readers who saw only the statements answered wrongly is told."""

import contextlib
import io
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import torch

from answers import ANSWERS
from transformer_workbook import exercises
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.judge.tasks import Task, Verdict

pytestmark = [pytest.mark.slow, pytest.mark.verify]  # they measure, and teach nothing

CHAPTERS = [path.parent.name for path in Path(__file__).parent.glob("chapters/*/held_out.py")]
MOST_UNNAMED = 1
"""Wrong answers of a chapter that are not told which mistake they are, at most."""


@pytest.fixture(params=CHAPTERS)
def answers(request: pytest.FixtureRequest) -> Iterator[list]:
    """The answers to the exercises of a chapter. Some of the files choose double precision."""
    before = torch.get_default_dtype()
    ANSWERS.clear()
    import_module(f"chapters.{request.param}.held_out")
    yield list(ANSWERS)
    torch.set_default_dtype(before)


def judged(name: str, answer: object) -> Verdict:
    with contextlib.redirect_stdout(io.StringIO()):
        return getattr(exercises, name).check(answer)


def is_named(task: Task, verdict: Verdict) -> bool:
    """Whether a sentence says more than that one case is wrong, or that an exception was raised."""
    if not isinstance(task, Exercise):
        return not verdict.mistake.endswith(("is too large.", "is too small."))
    plain = ("it gives", "it raises", "right is", "is still missing")
    known = [mistake.says for mistake in task.mistakes]
    if verdict.mistake in known or "in every case;" in verdict.mistake:
        return True
    return not any(words in verdict.mistake for words in plain)


@pytest.mark.filterwarnings("default")  # some answers make PyTorch warn
def test_wrong_answers_are_told_why(answers: list) -> None:
    found, faults = Counter[bool](), []
    for answer in answers:
        verdict = judged(answer.exercise, answer.answer)
        if verdict.state != "wrong":
            faults.append(f"{answer.exercise} ({answer.slip}): {verdict}")
        else:
            found[is_named(getattr(exercises, answer.exercise), verdict)] += 1
    assert not faults, "\n".join(faults)
    assert found[False] <= MOST_UNNAMED

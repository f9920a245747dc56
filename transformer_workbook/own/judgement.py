"""Judgement: whether a reader's module is right, not written or wrong, and which mistake it has."""

import linecache
import re
from collections.abc import Collection
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import torch
from torch import Tensor

from transformer_workbook.chapters import chapter_of
from transformer_workbook.judge.catalogue import Mistake
from transformer_workbook.judge.comparing import Failure, difference, equal
from transformer_workbook.judge.diagnosis.relations import relation
from transformer_workbook.judge.faults import FAULT, trace_of
from transformer_workbook.judge.overtime import OutOfTime, within
from transformer_workbook.judge.sentences import said
from transformer_workbook.judge.subjects import Subject
from transformer_workbook.judge.trials import IN_PLACE, Trial, attempt, of_ours, settings_put_back
from transformer_workbook.own.checks import CHECKS, Check
from transformer_workbook.own.definitions import is_private, source_of
from transformer_workbook.own.loader import OURS, file_of, run_source
from transformer_workbook.own.mistakes import slips
from transformer_workbook.own.syllabus import PACKAGE

SECONDS = 5.0
"""How long the reader's code may take to answer one question."""


State = Literal["right", "not written", "wrong", "not judged"]


@dataclass(frozen=True)
class Finding:
    """The verdict on a function or a class of the reader's."""

    module: str
    subject: str
    state: State
    """It is ``not judged`` where the check itself failed."""
    sentence: str = ""
    question: int = 0
    """The number of the first question, among all about the subject, that is answered wrong."""
    named: bool = False
    """Whether the sentence names the mistake, instead of showing an answer."""
    place: str = ""
    """The function in which the mistake is, where that is known."""
    depends: bool = False
    """Whether the mistake is reported for another subject."""
    trace: str = ""
    """The traceback of what failed in the check itself."""


def subjects_of(module: str) -> list[str]:
    """Return the functions and classes of a module that are judged."""
    return list(dict.fromkeys(check.subject for check in CHECKS[module]))


def loaded(folder: Path, module: str) -> ModuleType | Failure:
    """Load a module of the reader's, or return why it cannot be loaded."""
    file = file_of(folder, module)
    try:
        source = file.read_bytes()
    except OSError as error:
        return Failure(said("it cannot be read: {error}", error=error))
    linecache.checkcache(str(file))  # it may have been read before
    return attempt(lambda: run_source(source, PACKAGE, module, str(file)), (), SECONDS).result


def checks_of(module: str, subject: str) -> list[Check]:
    """Return the questions about a subject, in order of size."""
    return [check for check in CHECKS[module] if check.subject == subject]


@cache
def subject_of(module: str, subject: str, place: str = "") -> Subject:
    """Return the questions about a function or a class, and the mistakes of its module.

    If the place of a mistake is known, mistakes there come first, then those nearby.
    """
    checks = checks_of(module, subject)

    def known() -> list[Mistake]:
        places = mistakes(module)
        return sorted(places, key=lambda mistake: _distance(places[mistake], place))

    return Subject(
        [partial(asked, check) for check in checks],
        [partial(wanted, check) for check in checks],
        known,
    )


def _distance(places: Collection[str], place: str) -> int:
    """Return 0 for the same function, 1 for the same class or a helper, 2 for others."""
    if not place or place in places:
        return 0
    near = (
        is_private(name) or name.partition(".")[0] == place.partition(".")[0] for name in places
    )
    return 1 if any(near) else 2


@cache
def mistakes(module: str) -> dict[Mistake, tuple[str, ...]]:
    """Return the common mistakes in a module, with the definitions in which they are."""
    return {
        Mistake(slip.says, run_source(slip.source, PACKAGE, module, f"<{module}>")): slip.places
        for slip in slips(module)
    }


def judged(theirs: ModuleType | Failure, module: str, subject: str, place: str = "") -> Finding:
    """Judge one subject of a module; the place of its mistake may be known.

    A mistake is named if simulating it gives the reader's answers to all questions about the
    subject; otherwise the first wrong answer is shown, which is the one of the smallest question.
    What the check itself raises is told as ours.
    """
    try:
        return _judged(theirs, module, subject, place)
    except Exception as error:
        return Finding(module, subject, "not judged", FAULT, trace=trace_of(error))


def _judged(theirs: ModuleType | Failure, module: str, subject: str, place: str) -> Finding:
    if isinstance(theirs, Failure):
        run_source(source_of(module), PACKAGE, module, f"<{module}>")  # raises what is ours
        sentence = said("it cannot be used: {sentence}", sentence=theirs.sentence)
        return Finding(module, subject, "wrong", sentence, place=f"{module}.py")
    checks, questions = checks_of(module, subject), subject_of(module, subject, place)
    answers: list[Any] = []
    pairs = zip(checks, questions.trials(theirs), strict=False)
    for number, (check, trial) in enumerate(pairs):
        given = trial.result
        if trial.endless:
            require_right(module, check)
            return Finding(module, subject, "wrong", f"{check.question}: {given.sentence}", number)
        if isinstance(given, Failure) and _is_not_written(given):
            where = {"subject": subject, "chapter": chapter_of(module)}
            what = given.message or said("{subject}: chapter {chapter}", **where)
            told = said("not written yet: {what}.", what=what)
            return Finding(module, subject, "not written", told, number)
        answers.append(given)
    failing = questions.failing(answers)
    if not failing:
        return Finding(module, subject, "right")
    require_right(module, checks[failing[0]])
    named, i = questions.named(answers, failing) or relation(answers, questions.right), failing[0]
    case = f"{checks[i].question}: {difference(answers[i], questions.right[i])}"
    return Finding(module, subject, "wrong", named or case, i, bool(named))


def _is_not_written(given: Failure) -> bool:
    """Tell whether the reader's code raises this; PyTorch also does, for types it does not know."""
    return given.kind == "NotImplementedError" and bool(re.search(r"\braise\b", given.place))


def asked(check: Check, module: ModuleType, seconds: float | None = None) -> Trial:
    """Ask a module a question; return its answer or a Failure. The question is not changed."""

    def ask() -> Any:
        torch.manual_seed(0)
        return check.ask(module)

    inputs: list[Any] = [x for x in check.ask.__globals__.values() if isinstance(x, Tensor | list)]
    before = [x.clone() if isinstance(x, Tensor) else deepcopy(x) for x in inputs]
    trial = attempt(ask, (), seconds or SECONDS)
    if equal(inputs, before):
        return trial
    for given, kept in zip(inputs, before, strict=True):
        if isinstance(given, Tensor):
            given.data = kept
            if given.requires_grad:  # as the sum with a parameter does
                given.detach_()
        else:
            given[:] = kept
    return trial if isinstance(trial.result, Failure) else Trial(Failure(IN_PLACE))


@cache
def wanted(check: Check) -> Any:
    """Return the right answer to a question."""
    return of_ours(check.want, ())


@cache
def require_right(module: str, check: Check) -> None:
    """Raise an exception if our own module does not answer a question right, either."""
    with settings_put_back():
        torch.manual_seed(0)
        try:
            given = within(SECONDS, lambda: check.ask(import_module(f"{OURS}.{module}")))
        except OutOfTime:
            raise TimeoutError(f"our own {module} takes more than {SECONDS} seconds") from None
    if not equal(given, wanted(check)):
        told = difference(given, wanted(check))
        raise AssertionError(f"our own {module}: {check.question}: {told}")

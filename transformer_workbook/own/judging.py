"""Judging: what a module of the reader's is, right, not written or wrong, and in which way."""

import linecache
import re
import tomllib
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.comparing import Failure, difference, equal
from transformer_workbook.judge.relations import relation
from transformer_workbook.judge.trials import IN_PLACE, Trial, attempt
from transformer_workbook.own.checks import CHECKS, Check
from transformer_workbook.own.loading import file_of, run_source
from transformer_workbook.own.skeleton import source_of
from transformer_workbook.chapters import chapter_of
from transformer_workbook.own.teaching import PACKAGE

SECONDS = 5.0
"""How long the reader's code may take to answer one question."""

NOT_WRITTEN = "it raises NotImplementedError"


@dataclass(frozen=True)
class Finding:
    """What is said of a function or a class of the reader's."""

    module: str
    subject: str
    state: str
    """``right``, ``not written`` or ``wrong``."""
    sentence: str = ""


@cache
def slips() -> dict[str, dict[str, list[str]]]:
    """What readers often get wrong, by module: a sentence, and how our source becomes wrong."""
    text = Path(__file__).with_name("slips.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def subjects_of(module: str) -> list[str]:
    """The functions and classes of a module that are judged."""
    return list(dict.fromkeys(check.subject for check in CHECKS[module]))


def loaded(folder: Path, module: str) -> ModuleType | Failure:
    """The module of the reader's, or why there is none."""
    file = file_of(folder, module)
    try:
        source = file.read_bytes()
    except OSError as error:
        return Failure(f"it cannot be read: {error}")
    linecache.checkcache(str(file))  # it may have been told of before
    return attempt(lambda: run_source(source, PACKAGE, module, str(file)), (), SECONDS).result


def judged(theirs: ModuleType | Failure, module: str, subject: str) -> Finding:
    """Say of one subject of a module what it is.

    A mistake is named if simulating it gives the reader's answers to all questions about the
    subject; otherwise the first answer that is wrong is shown. The questions come in an order of
    size, so that is the smallest.
    """
    if isinstance(theirs, Failure):
        return Finding(module, subject, "wrong", f"{module}.py cannot be used: {theirs.sentence}")
    checks = [check for check in CHECKS[module] if check.subject == subject]
    answers: list[Any] = []
    for check in checks:
        trial = asked(check, theirs)
        given = trial.result
        if trial.endless:  # each further question may take as long
            return Finding(module, subject, "wrong", f"{check.claim}: {given.sentence}")
        if isinstance(given, Failure) and _is_not_written(given):
            what = given.error.removeprefix(NOT_WRITTEN).removeprefix(": ")
            what = what or f"{subject}: chapter {chapter_of(module)}"
            return Finding(module, subject, "not written", f"not written yet: {what}.")
        answers.append(given)
    right = [wanted(check) for check in checks]
    wrong = [i for i, given in enumerate(answers) if not equal(given, right[i])]
    if not wrong:
        return Finding(module, subject, "right")
    # A mistake shows in the first wrong answer: most of the others need not be simulated.
    order = [wrong[0], *(i for i in range(len(checks)) if i != wrong[0])]
    said = named(module, [checks[i] for i in order], [answers[i] for i in order])
    if not said and len(answers) > 1:
        said = relation(answers, right, False)
    if not said:
        i = wrong[0]
        said = f"{checks[i].claim}: {difference(answers[i], right[i])}"
    return Finding(module, subject, "wrong", said)


def _is_not_written(given: Failure) -> bool:
    """Whether it is the reader's code that raises this; PyTorch does for types it does not know."""
    return given.error.partition(": ")[0] == NOT_WRITTEN and bool(
        re.search(r"\braise\b", given.place)
    )


def asked(check: Check, module: ModuleType) -> Trial:
    """What a module answers to a question, or a Failure. The question stays as it is."""

    def ask() -> Any:
        torch.manual_seed(0)
        return check.ask(module)

    inputs: list[Any] = [x for x in check.ask.__globals__.values() if isinstance(x, Tensor | list)]
    before = [x.clone() if isinstance(x, Tensor) else deepcopy(x) for x in inputs]
    trial = attempt(ask, (), SECONDS)
    if equal(inputs, before):
        return trial
    for given, kept in zip(inputs, before, strict=True):
        if isinstance(given, Tensor):
            given.data = kept
            if given.requires_grad:  # as what a parameter was added to does
                given.detach_()
        else:
            given[:] = kept
    return trial if isinstance(trial.result, Failure) else Trial(Failure(IN_PLACE))


@cache
def wanted(check: Check) -> Any:
    """The right answer to a question."""
    return attempt(check.want, (), 1e6).result


def named(module: str, checks: list[Check], answers: list[Any]) -> str:
    """The first mistake that gives these answers to these questions."""
    for sentence in slips()[module]:
        if all(
            equal(slipped(module, sentence, check), given)
            for check, given in zip(checks, answers, strict=True)
        ):
            return sentence
    return ""


@cache
def slipped(module: str, sentence: str, check: Check) -> Any:
    """What our module answers to a question when it makes a mistake."""
    return asked(check, with_slip(module, sentence)).result


@cache
def with_slip(module: str, sentence: str) -> ModuleType:
    """Our module with a mistake."""
    right, wrong = slips()[module][sentence]
    source = source_of(module).replace(right, wrong)
    return run_source(source, PACKAGE, module, f"<{module}>")

"""Checking: compare a reader's answer with a reference, and say which mistake it is."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from html import escape
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check found; it shows itself, and can be read by a program."""

    state: str  # "not attempted", "right" or "wrong"
    mistake: str = ""  # why it is wrong, as a sentence

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self.state == "right"

    def __repr__(self) -> str:
        return f"{self.state}: {self.mistake}" if self.mistake else self.state

    def _repr_html_(self) -> str:
        sign = {"right": "✓", "wrong": "✗"}.get(self.state, "○")
        return f"<p>{sign} <strong>{self.state}</strong> {escape(self.mistake)}</p>"


@dataclass(frozen=True)
class Exercise:
    """A question that checks itself: call it with the reader's function.

    A mistake is named only if simulating it gives the reader's answer in *every* case; otherwise
    the first case that fails is shown. Nothing that the reader's function does is raised at the
    reader: it becomes part of the verdict.
    """

    reference: Callable[..., Any]
    """A right answer."""
    mistakes: Mapping[str, Callable[..., Any]]
    """What readers often get wrong: a sentence, and a function that is wrong in this way."""
    cases: Sequence[tuple[Any, ...]]
    """Arguments to try, the simplest first."""

    def __call__(self, answer: Callable[..., Any]) -> Verdict:
        """Compare the answer with the reference. Until it is written, it returns ``None``."""
        answers = []
        for case in self.cases:
            given = deepcopy(case)
            try:
                answers.append(answer(*given))
            except Exception as error:  # whatever a reader's code may raise
                return Verdict("wrong", f"it raises {type(error).__name__}: {error}")
            if not equal(given, case):
                return Verdict("wrong", "it changes its arguments in place; return a new result.")
        if all(a is None for a in answers):
            return Verdict("not attempted")
        if equal(answers, self.results(self.reference)):
            return Verdict("right")
        for sentence, mistaken in self.mistakes.items():
            if equal(answers, self.results(mistaken)):
                return Verdict("wrong", sentence)
        rows = zip(self.cases, answers, self.results(self.reference), strict=True)
        case, got, want = next(row for row in rows if not equal(row[1], row[2]))
        if isinstance(got, Tensor) != isinstance(want, Tensor):
            kinds = type(got).__name__, type(want).__name__
            return Verdict("wrong", "it gives a {}; a {} is asked for.".format(*kinds))
        arguments = ", ".join(map(show, case))
        return Verdict("wrong", f"for {arguments} it gives {show(got)}; right is {show(want)}.")

    def results(self, function: Callable[..., Any]) -> list[Any]:
        """What a function gives in every case."""
        return [function(*deepcopy(case)) for case in self.cases]


def equal(a: Any, b: Any) -> bool:
    """Whether two results are the same, up to rounding.

    Lists and tuples are the same thing, and so are a number and a tensor that holds just it.
    """
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.shape != b.shape or (a.dtype == torch.bool) != (b.dtype == torch.bool):
            return False
        return torch.allclose(a.double(), b.double(), rtol=1e-4, atol=1e-6, equal_nan=True)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if all(isinstance(x, int | float) or (isinstance(x, Tensor) and not x.dim()) for x in (a, b)):
        return equal(torch.as_tensor(a), torch.as_tensor(b))
    return type(a) is type(b) and bool(a == b)


def show(value: Any) -> str:
    """A value as a reader would write it."""
    return str(value.tolist()) if isinstance(value, Tensor) else str(value)

"""Checking: compare a reader's answer with a reference, and say which mistake it is."""

from collections.abc import Callable, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass
from html import escape
from numbers import Real
from typing import Any

import torch
from torch import Tensor

LONG = 80  # a value that takes more characters than this is not shown as a whole


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
class Failure:
    """What stands in place of a result when a function gave none. All exceptions are the same."""

    raised: bool
    sentence: str


@dataclass(frozen=True)
class Exercise:
    """A question that checks itself: call it with the reader's function.

    A mistake is named only if simulating it gives the reader's answer in *every* case; where the
    simulation raises an exception, the reader's function must raise one too, of whatever type.
    Otherwise the smallest case that fails is shown. Whatever the reader's function does becomes
    part of the verdict; only an interruption from the keyboard goes through.
    """

    reference: Callable[..., Any]
    """A right answer."""
    mistakes: Mapping[str, Callable[..., Any]]
    """What readers often get wrong: a sentence, and a function that is wrong in this way."""
    cases: Sequence[tuple[Any, ...]]
    """Arguments to try."""

    def __call__(self, answer: Any) -> Verdict:
        """Compare the answer with the reference. Until it is written, it returns ``None``."""
        if not callable(answer):
            return Verdict("wrong", "the check wants the function itself, not what it returns.")
        answers = self.results(answer)
        if all(got is None for got in answers):
            return Verdict("not attempted")
        right = self.results(self.reference)
        failing = [i for i, got in enumerate(answers) if not equal(got, right[i])]
        if not failing:
            return Verdict("right")
        for sentence, mistaken in self.mistakes.items():
            if equal(answers, self.results(mistaken)):
                return Verdict("wrong", sentence)
        i = min(failing, key=lambda i: len(show(self.cases[i])))
        if isinstance(answers[i], Failure) and len(failing) == len(answers):
            return Verdict("wrong", answers[i].sentence)
        arguments = ", ".join(map(brief, self.cases[i]))
        return Verdict("wrong", f"for {arguments} {difference(answers[i], right[i])}")

    def results(self, function: Callable[..., Any]) -> list[Any]:
        """What a function gives in every case."""
        return [_result(function, case) for case in self.cases]


def _result(function: Callable[..., Any], case: tuple[Any, ...]) -> Any:
    given = deepcopy(case)
    try:
        result = function(*given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a reader's code may raise, even SystemExit
        return Failure(True, f"it raises {_tell(error)}")
    if not equal(given, case):
        return Failure(False, "it changes its arguments in place; return a new result.")
    return result


def _tell(error: BaseException) -> str:
    try:
        message = str(error).strip().partition("\n")[0]
    except Exception:  # a reader's exception may raise too
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def equal(a: Any, b: Any) -> bool:
    """Whether two results are the same, up to rounding.

    Lists and tuples are the same thing, and so are a number and a tensor that holds just it.
    What cannot be compared is not the same.
    """
    try:
        return _equal(a, b)
    except Exception:  # a reader's object may raise at anything
        return False


def _equal(a: Any, b: Any) -> bool:
    if _is_number(a) and _is_number(b):
        a, b = torch.as_tensor(a), torch.as_tensor(b)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        same_kind = a.shape == b.shape and _numbers(a) == _numbers(b)
        return same_kind and bool(_close(a, b).all())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Failure) and isinstance(b, Failure):
        return a.raised and b.raised
    return type(a) is type(b) and bool(a == b)


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.dim() and _numbers(value) == "numbers"
    return isinstance(value, Real) and not isinstance(value, bool)


def _numbers(tensor: Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "True and False"
    return "complex numbers" if tensor.is_complex() else "numbers"


def _close(a: Tensor, b: Tensor) -> Tensor:
    rounded = a.is_floating_point() and b.is_floating_point()
    x, y = (t.cpu().double() for t in (a, b))
    return torch.isclose(x, y, rtol=1e-4 if rounded else 0, atol=1e-5, equal_nan=True)


def difference(got: Any, want: Any) -> str:
    """How a wrong result differs from the right one: the end of a sentence."""
    try:
        return _difference(got, want)
    except Exception:  # a reader's object may raise at anything
        return f"it gives {_form(got)}, which cannot be compared."


def _difference(got: Any, want: Any) -> str:
    if isinstance(got, Failure):
        return got.sentence
    if got is None:
        return "it gives None; does every branch return?"
    pair = show(got), show(want)
    alike = _form(got) == _form(want) or all(isinstance(x, list | tuple) for x in (got, want))
    if alike and pair[0] != pair[1] and max(map(len, pair)) <= LONG:
        return f"it gives {pair[0]}; right is {pair[1]}."
    place, got, want = _first_difference(got, want)
    at = f" at {place}" if place else ""
    if _form(got) != _form(want):
        return f"it gives {_form(got)}{at}; {_form(want)} is asked for."
    digits = 4 if show(got) != show(want) else 10
    return f"it gives {brief(got, digits)}{at}; right is {brief(want, digits)}."


def _first_difference(got: Any, want: Any) -> tuple[str, Any, Any]:
    """The place of the first difference, and what stands there."""
    if isinstance(got, list | tuple) and isinstance(want, list | tuple) and len(got) == len(want):
        for i, pair in enumerate(zip(got, want, strict=True)):
            if not equal(*pair):
                place, *rest = _first_difference(*pair)
                return f"[{i}]{place}", *rest
    if isinstance(want, Tensor) and want.dim() and _form(got) == _form(want):
        index = tuple((~_close(got, want)).nonzero()[0].tolist())
        return str(list(index)), got[index], want[index]
    return "", got, want


def _form(value: Any) -> str:
    if _is_number(value):
        return "a number"
    if isinstance(value, Tensor):
        numbers = _numbers(value)
        return f"a tensor of shape {tuple(value.shape)}" + f" of {numbers}" * (numbers != "numbers")
    if isinstance(value, list | tuple):
        return f"a list of length {len(value)}"
    return f"something of type {type(value).__name__}"


def show(value: Any, digits: int = 4) -> str:
    """A value as a reader would write it, with few digits.

    >>> show((torch.tensor([[0.5, 1 / 3]]), {2, 1}, [7]))
    '([[0.5, 0.3333]], {1, 2}, [7])'
    """
    if isinstance(value, Tensor):
        return show(value.tolist(), digits)
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    if not isinstance(value, list | tuple | Set):
        return repr(value)
    ordered = sorted(value) if isinstance(value, Set) else value
    entries = ", ".join(show(entry, digits) for entry in ordered)
    if isinstance(value, list):
        return f"[{entries}]"
    return f"({entries})" if isinstance(value, tuple) else f"{{{entries}}}"


def brief(value: Any, digits: int = 4) -> str:
    """A value, or its form where it is long."""
    text = show(value, digits)
    return text if len(text) <= LONG else _form(value)

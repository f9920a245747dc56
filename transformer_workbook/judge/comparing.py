"""Comparing: whether two results are the same, and how a wrong one differs from the right one."""

import contextlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_workbook.judge.sentences import said

LONG = 80  # a value that takes more characters than this is not shown as a whole


@dataclass(frozen=True)
class Failure:
    """The result of a function that raised an exception."""

    error: str
    """The error, as a sentence; two failures are the same if their errors are."""
    kind: str = ""
    """The class of the exception, by its name; "" if none was raised."""
    message: str = ""
    """The first line of what the exception says."""
    place: str = ""
    """Where in the reader's own code: the number of a line, and the line."""

    @property
    def sentence(self) -> str:
        """Return the message about it."""
        sentence = self.error
        if self.place:
            sentence = said("{error}, in line {place}", error=self.error, place=self.place)
        return sentence if sentence.endswith((".", "?", "…")) else said("{error}.", error=sentence)


def equal(got: Any, want: Any, whole: bool = False) -> bool:
    """Tell whether a result equals the wanted one, up to rounding.

    A list or a tuple may be any sequence, and a number, or True, may be a tensor with one
    element. If the numbers must be ``whole``, 2.0 is not 2. What cannot be compared is not
    equal.
    """
    try:
        return _equal(got, want, whole)
    except Exception:  # a reader's object may raise anything
        return False


def _equal(got: Any, want: Any, whole: bool) -> bool:
    if _is_plainly_other(got, want):
        return False
    if is_truth(got) and is_truth(want):
        return bool(got) == bool(want)
    if is_number(got) and is_number(want):
        got, want = _as_tensor(got), _as_tensor(want)
    if isinstance(got, Tensor) and isinstance(want, Tensor):
        alike = got.dtype == want.dtype or _kind(got, whole) == _kind(want, whole)
        return alike and got.shape == want.shape and bool(_close(got, want).all())
    if isinstance(want, list | tuple) and _is_sequence(got):
        pairs = zip(got, want, strict=True)
        return len(got) == len(want) and all(_equal(x, y, whole) for x, y in pairs)
    if isinstance(got, Mapping) and isinstance(want, Mapping):
        return got.keys() == want.keys() and all(_equal(got[key], want[key], whole) for key in want)
    if isinstance(got, nn.Module) and isinstance(want, nn.Module):
        return type(got) is type(want) and _equal(got.state_dict(), want.state_dict(), whole)
    if isinstance(got, Failure) and isinstance(want, Failure):
        return got.error == want.error
    if isinstance(got, Set) and isinstance(want, Set):
        return got == want
    return type(got) is type(want) and bool(got == want)


def in_its_form(got: Any, want: Any) -> Any:
    """Convert a list or an array to a tensor, if a tensor is asked for.

    >>> in_its_form([[1, 2], [3, 4]], torch.zeros(2, 2))
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(want, Tensor) and want.dim() and isinstance(got, list | tuple | np.ndarray):
        with contextlib.suppress(Exception):  # no numbers, or rows of different lengths
            return _tensor(got)
    if isinstance(want, list | tuple) and isinstance(got, list | tuple) and len(got) == len(want):
        entries = list(map(in_its_form, got, want))
        return entries if isinstance(got, list) else tuple(entries)
    if isinstance(want, dict) and isinstance(got, dict) and got.keys() == want.keys():
        return {key: in_its_form(got[key], want[key]) for key in want}
    return got


def _tensor(rows: Any) -> Tensor:
    """Convert a list or an array, whose rows may be tensors, to a tensor."""
    try:
        return torch.as_tensor(rows)
    except (TypeError, ValueError):
        return torch.stack(list(map(_tensor, rows)))


def _is_plainly_other(got: Any, want: Any) -> bool:
    """Tell whether two shapes or two numbers clearly differ, as most that are compared do."""
    if type(got) is type(want) is Tensor:
        return got.shape != want.shape
    if type(got) is type(want) is float:
        return 1e30 > abs(got - want) > 1e-3 * (1 + abs(want))
    return type(got) is type(want) is int and 1e15 > abs(got - want) > 0


def is_number(value: Any) -> bool:
    """Tell whether this is one real number: not True, not text."""
    if isinstance(value, Tensor):
        return not value.dim() and not value.is_complex() and value.dtype != torch.bool
    return isinstance(value, Real) and not isinstance(value, bool)


def _as_tensor(value: Any) -> Tensor:
    """Convert a number, which may be a fraction, to a tensor."""
    known = isinstance(value, Tensor | int | float | np.generic)
    return torch.as_tensor(value if known else float(value))


def is_truth(value: Any) -> bool:
    """Tell whether this is True or False, or a tensor without axes that contains it."""
    if isinstance(value, Tensor):
        return not value.dim() and value.dtype == torch.bool
    return isinstance(value, bool | np.bool_)


def _is_sequence(value: Any) -> bool:
    """Tell whether this is a list, a tuple, a range, an array, or a tensor with axes."""
    if isinstance(value, Tensor | np.ndarray):
        return bool(value.ndim)
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _kind(tensor: Tensor, whole: bool) -> tuple[bool, bool, bool]:
    """Tell whether a tensor is boolean, complex, or has floats instead of integers."""
    is_truth = tensor.dtype == torch.bool
    return is_truth, tensor.is_complex(), whole and tensor.is_floating_point()


def _close(a: Tensor, b: Tensor) -> Tensor:
    rounded = a.is_floating_point() and b.is_floating_point()
    wide = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
    x, y = (t.cpu().to(wide) for t in (a, b))
    return torch.isclose(x, y, rtol=1e-4 if rounded else 0, atol=1e-5, equal_nan=True)


def difference(got: Any, want: Any, whole: bool = False) -> str:
    """Say how a wrong result differs from the right one."""
    try:
        return _difference(got, want, whole)
    except Exception:  # a reader's object may raise anything
        return said("it gives {got}, which cannot be compared.", got=form(got))


def _difference(got: Any, want: Any, whole: bool) -> str:
    if isinstance(got, Failure):
        return got.sentence
    if got is None:
        return said("it gives None; does every branch return?")
    pair = show(got), show(want)
    alike = form(got) == form(want) or all(isinstance(x, list | tuple) for x in (got, want))
    if alike and pair[0] != pair[1] and max(map(len, pair)) <= LONG:
        return said("it gives {got}; right is {right}.", got=pair[0], right=pair[1])
    place, got, want = first_difference(got, want, whole)
    if form(got, whole) != form(want, whole):
        asked = form(want, whole)
        if form(got) == form(want):  # only the kind of number differs
            asked = said("{tensor} of integers", tensor=asked)
            asked = said("an integer") if is_number(want) else asked
        given = {"place": place, "got": "None" if got is None else form(got, whole), "asked": asked}
        if place:
            return said("it gives {got} at {place}; {asked} is asked for.", **given)
        return said("it gives {got}; {asked} is asked for.", **given)
    digits = 4 if show(got) != show(want) else 10
    given = {"place": place, "got": brief(got, digits), "right": brief(want, digits)}
    if place:
        return said("it gives {got} at {place}; right is {right}.", **given)
    return said("it gives {got}; right is {right}.", **given)


def first_difference(got: Any, want: Any, whole: bool = False) -> tuple[str, Any, Any]:
    """Find the first difference: its position, and both values there."""
    if isinstance(got, Mapping) and isinstance(want, Mapping) and got.keys() == want.keys():
        for key in want:
            if not equal(got[key], want[key], whole):
                place, *rest = first_difference(got[key], want[key], whole)
                return f"[{key!r}]{place}", *rest
    if isinstance(got, list | tuple) and isinstance(want, list | tuple) and len(got) == len(want):
        for i, pair in enumerate(zip(got, want, strict=True)):
            if not equal(*pair, whole):
                place, *rest = first_difference(*pair, whole)
                return f"[{i}]{place}", *rest
    if isinstance(want, Tensor) and want.dim() and form(got, whole) == form(want, whole):
        index = tuple((~_close(got, want)).nonzero()[0].tolist())
        return str(list(index)), got[index], want[index]
    return "", got, want


def form(value: Any, whole: bool = False) -> str:
    """Describe the type and the size of a value."""
    if is_number(value):
        is_float = whole and torch.as_tensor(value).is_floating_point()
        return said("a float") if is_float else said("a number")
    if is_truth(value):
        return said("True or False")
    if isinstance(value, Tensor):
        shape, (are_truths, are_complex, are_floats) = tuple(value.shape), _kind(value, whole)
        if are_truths:
            return said("a tensor of shape {shape} of True and False", shape=shape)
        if are_complex:
            return said("a tensor of shape {shape} of complex numbers", shape=shape)
        if are_floats:
            return said("a tensor of shape {shape} of floats", shape=shape)
        return said("a tensor of shape {shape}", shape=shape)
    if isinstance(value, np.ndarray):
        return said("a NumPy array of shape {shape}", shape=value.shape)
    if isinstance(value, list | tuple):
        return said("a {type} of length {length}", type=type(value).__name__, length=len(value))
    if isinstance(value, Mapping):
        return said("a dictionary with the keys {keys}", keys=", ".join(map(show, value)))
    return said("something of type {type}", type=type(value).__name__)


def show(value: Any, digits: int = 4) -> str:
    """Write a value as a reader would, with few digits.

    >>> show((torch.tensor([[0.5, 1 / 3]]), {2, 1}, [7]))
    '([[0.5, 0.3333]], {1, 2}, [7])'
    """
    if isinstance(value, Tensor | np.bool_):
        return show(value.tolist(), digits)
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    if isinstance(value, Mapping):
        pairs = (f"{show(key)}: {show(entry, digits)}" for key, entry in value.items())
        return f"{{{', '.join(pairs)}}}"
    if not isinstance(value, list | tuple | Set):
        return repr(value)
    ordered = sorted(value) if isinstance(value, Set) else value
    entries = ", ".join(show(entry, digits) for entry in ordered)
    if isinstance(value, list):
        return f"[{entries}]"
    return f"({entries})" if isinstance(value, tuple) else f"{{{entries}}}"


def brief(value: Any, digits: int = 4) -> str:
    """Write a value, or only its form if it is long."""
    text = show(value, digits)
    return text if len(text) <= LONG else form(value)

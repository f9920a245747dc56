"""Trials: run a reader's function on a case so that it can neither hang nor change anything."""

import contextlib
import io
import linecache
import random
import tokenize
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import annotated_transformer
from annotated_transformer.ground.devices import same_randomness
from transformer_workbook.judge.comparing import LONG, Failure, equal
from transformer_workbook.judge.copying import copied
from transformer_workbook.judge.overtime import OutOfTime, within
from transformer_workbook.judge.sentences import said
from transformer_workbook.judge.surroundings import surroundings_put_back

SECONDS = 10.0
"""How long a reader's function may take for one case."""

NOT_THE_READERS = (
    Path(__file__).parent.parent,
    Path(annotated_transformer.__file__).parent,
    Path(torch.__file__).parent.parent,
    Path(contextlib.__file__).parent,
)
"""Where our packages, the installed ones and those of Python have their files."""


MOST = 20_000
"""Maximum number of characters kept of a function's output, or of an exception."""

IN_PLACE = said("it changes its arguments in place; return a new result")


class Printed(io.StringIO):
    """Captures what a function prints, up to a limit."""

    def write(self, text: str) -> int:
        """Keep a text, if there is room; the rest is dropped silently."""
        super().write(text[: max(0, MOST - self.tell())])
        return len(text)


class Unfit(ValueError):
    """The answer cannot be called on a case; the message says why, and is shown unchanged."""


@dataclass(frozen=True)
class Trial:
    """What a function did in one case."""

    result: Any
    """What it returned, or a Failure."""
    printed: str = ""
    changed: tuple[str, ...] = ()
    """The names outside the function whose values it changed."""
    endless: bool = False


def attempt(
    function: Callable[..., Any],
    case: tuple[Any, ...],
    seconds: float = SECONDS,
    ask: Callable[..., Any] | None = None,
) -> Trial:
    """Call a function with copies of the arguments, and report whatever it does.

    ``ask(function, *arguments)`` is called instead if it is given.
    The data that it reads outside itself are copied, the random generators are restored, and
    its output is captured. Only an interruption from the keyboard passes through.
    """
    given, printed = copied(case), Printed()
    copies: dict[str, tuple[Any, Any]] = {}
    try:
        with (
            surroundings_put_back(function) as copies,
            settings_put_back(_precision(given)),
            contextlib.redirect_stdout(printed),
        ):
            result = within(seconds, lambda: ask(function, *given) if ask else function(*given))
    except KeyboardInterrupt:
        raise
    except OutOfTime:
        sentence = said(
            "it does not end within {seconds:g} seconds; is there a loop without an end?",
            seconds=seconds,
        )
        return Trial(Failure(sentence), printed.getvalue(), endless=True)
    except Unfit as error:
        result = Failure(str(error))
    except BaseException as error:  # a reader's code may raise anything, even SystemExit
        result = _failure(error)
    else:
        if not equal(given, case):
            result = Failure(IN_PLACE)
    changed = tuple(name for name, pair in copies.items() if not equal(*pair))
    return Trial(result, printed.getvalue(), changed)


def calculate(
    function: Callable[..., Any], case: tuple[Any, ...], ask: Callable[..., Any] | None = None
) -> Any:
    """Call one of our own functions on a case; return a Failure if it raises."""
    try:
        with settings_put_back():
            return within(1.0, lambda: ask(function, *case) if ask else function(*case))
    except (Exception, OutOfTime) as error:
        return replace(_failure(error), place="")


def of_ours(
    function: Callable[..., Any], case: tuple[Any, ...], ask: Callable[..., Any] | None = None
) -> Any:
    """Call a correct function of ours on a case: what it raises passes through."""
    with (
        surroundings_put_back(function),
        settings_put_back(_precision(case)),
        contextlib.redirect_stdout(Printed()),
    ):
        return ask(function, *case) if ask else function(*case)


def _precision(given: tuple[Any, ...]) -> torch.dtype:
    """Return the precision of the arguments: new tensors of a reader without a type fit them."""
    floats = (x.dtype for x in given if isinstance(x, torch.Tensor) and x.is_floating_point())
    return next(floats, torch.float64)


@contextlib.contextmanager
def settings_put_back(precision: torch.dtype = torch.float64) -> Iterator[None]:
    """Restore the random generators of Python, NumPy and PyTorch, and PyTorch's settings.

    Inside, new tensors have this precision: random numbers do not depend on a notebook's own.
    """
    state, own = random.getstate(), torch.get_default_dtype()
    of_numpy = np.random.get_state()  # noqa: NPY002  (a reader may use it)
    device = torch.get_default_device()
    torch.set_default_dtype(precision)
    try:
        with same_randomness(), torch.set_grad_enabled(torch.is_grad_enabled()):
            yield
    finally:
        random.setstate(state)
        np.random.set_state(of_numpy)  # noqa: NPY002
        torch.set_default_dtype(own)
        if torch.get_default_device() != device:  # an own default, even the usual one, costs time
            torch.set_default_device(device)


def _failure(error: BaseException) -> Failure:
    """Describe an exception, and where in the reader's own code it was raised."""
    try:
        message = str(error)[:MOST].strip().partition("\n")[0]
    except Exception:  # a reader's exception may raise as well
        message = ""
    name = type(error).__name__
    told = said("it raises {error}", error=f"{name}: {message}" if message else name)
    return Failure(told, name, message, _place(error))


def _place(error: BaseException) -> str:
    """Find the last line of the reader's own code in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_readers(Path(frame.filename))]
    if not own:
        return ""
    file, number = own[-1].filename, own[-1].lineno
    line = quoted(linecache.getline(file, number or 0))
    return f"{number}: {line}" if line else str(number)


def quoted(line: str) -> str:
    """Write a line of code without its comment; a long one ends after a token, visibly.

    >>> quoted("    scores = q @ k.mT  # (..., word, word)")
    'scores = q @ k.mT'
    >>> quoted(f"weights = {'a_query + ' * 9}the_last")[-19:]
    'query + a_query + …'
    >>> quoted("y = (a,")
    'y = (a,'
    >>> quoted(f"'{90 * 'x'}'.format(a)")[-3:]
    'x …'
    """
    line, ends, cut = line.strip(), list[int](), False
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # it may go on in the next line
        for token in tokenize.generate_tokens(iter([line]).__next__):
            if token.type in (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL):
                cut = True
                break
            ends.append(token.end[1])
    line = line[: ends[-1]] if cut and ends else line
    if len(line) <= LONG:
        return line
    return f"{line[: max((end for end in ends if end <= LONG), default=LONG)]} …"


def _is_readers(file: Path) -> bool:
    return not any(file.is_relative_to(folder) for folder in NOT_THE_READERS)

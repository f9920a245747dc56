"""A catalogue: the mistakes that readers make, as changes of the source of a right answer.

It stands in a table beside the reference, a TOML file of the same name::

    [[window_mask]]
    says = "the windows have one place too many: width counts the query itself."
    change = { "< width" = "<= width" }

Every change replaces a text that stands in the source exactly once. Where no change can say a
mistake, ``function`` names a function beside the reference that makes it.
"""

import ast
import inspect
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from transformer_workbook.judge.sentences import said


@dataclass(frozen=True)
class Mistake:
    """A way to be wrong."""

    says: str
    """What the result of it is, as a sentence."""
    answer: Any
    """An answer that is wrong in this way: a function, a class or a module."""


def mistakes_in(reference: Callable[..., Any]) -> list[Mistake]:
    """Read the mistakes of a reference from the table beside its module.

    Raises:
        ValueError: if a change does not apply exactly once.
    """
    source, names = source_of(reference), names_around(reference)
    rows = rows_of(reference)
    return [Mistake(row["says"], wrong(row, source, names, reference.__name__)) for row in rows]


def pairs_in(reference: Callable[..., Any]) -> Iterator[Mistake]:
    """Make every two mistakes of a table at once, where both changes apply."""
    source, names = source_of(reference), names_around(reference)
    for one, other in combinations([row for row in rows_of(reference) if "change" in row], 2):
        says = said(
            "two mistakes at once: {one} Besides, {other}", one=one["says"], other=other["says"]
        )
        row = {"says": says, "change": one["change"] | other["change"]}
        if len(row["change"]) == len(one["change"]) + len(other["change"]):
            with suppress(
                ValueError, SyntaxError
            ):  # the one leaves nothing to change for the other
                yield Mistake(says, wrong(row, source, names, reference.__name__))


def rows_of(reference: Callable[..., Any]) -> list[dict[str, Any]]:
    """The rows of the table beside a reference's module that are its own."""
    file = Path(str(sys.modules[reference.__module__].__file__))
    return table(file.with_suffix(".toml")).get(reference.__name__, [])


def names_around(reference: Callable[..., Any]) -> dict[str, Any]:
    """What a reference's module names, and the reference itself."""
    return vars(sys.modules[reference.__module__]) | {reference.__name__: reference}


@cache
def table(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The mistakes that stand in a file, by what they are mistakes of."""
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def wrong(
    row: Mapping[str, Any], source: str, names: Mapping[str, Any], name: str
) -> Callable[..., Any]:
    """The answer that a row of a table describes."""
    if "function" in row:
        return names[row["function"]]
    own = dict(names)
    try:
        code = "from __future__ import annotations\n" + changed(source, row["change"])
    except ValueError as error:
        raise ValueError(f"{name}, {row['says']!r}: {error}") from error
    exec(compile(code, f"<{name}: {row['says']}>", "exec"), own)
    return own[name]


def changed(source: str, changes: Mapping[str, str]) -> str:
    """A source after some changes, one upon the other.

    >>> changed("return mask & near", {"&": "|", "near": "far"})
    'return mask | far'

    Raises:
        ValueError: if one does not apply exactly once.
    """
    for right, replacement in changes.items():
        if source.count(right) != 1:
            found = source.count(right)
            raise ValueError(f"{right!r} stands in the source {found} times, it must be once.")
        source = source.replace(right, replacement)
    return source


def source_of(reference: Callable[..., Any]) -> str:
    """The source of a function or a class without its decorators."""
    source = textwrap.dedent(inspect.getsource(reference))
    [node] = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    return "".join(source.splitlines(keepends=True)[node.lineno - 1 :])

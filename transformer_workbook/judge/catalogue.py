"""A catalogue: the mistakes that readers make, as changes of the source of a correct answer.

It is a table beside the reference, in the file ``mistakes.toml``::

    [[window_mask]]
    says = "the windows have one position too many: width counts the query itself."
    change = { "< width" = "<= width" }

Every change replaces a text that occurs in the source exactly once. Where no change can express a
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

from transformer_workbook.judge.sentences import in_language, said


@dataclass(frozen=True)
class Mistake:
    """A way to be wrong."""

    says: str
    """A sentence that says what the wrong result is."""
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
    """Combine every two mistakes of a table whose changes both apply."""
    source, names = source_of(reference), names_around(reference)
    for one, other in combinations([row for row in rows_of(reference) if "change" in row], 2):
        says = said(
            "two mistakes at once: {one} Besides, {other}", one=one["says"], other=other["says"]
        )
        row = {"says": says, "change": one["change"] | other["change"]}
        if len(row["change"]) == len(one["change"]) + len(other["change"]):
            with suppress(
                ValueError, SyntaxError
            ):  # the first leaves nothing to change for the second
                yield Mistake(says, wrong(row, source, names, reference.__name__))


def rows_of(function: Callable[..., Any]) -> list[dict[str, Any]]:
    """Return the rows of the table beside a function's module that are under its name."""
    file = Path(str(sys.modules[function.__module__].__file__))
    return table(file.with_name("mistakes.toml")).get(function.__name__, [])


def names_around(reference: Callable[..., Any]) -> dict[str, Any]:
    """Return the names in a reference's module, and the reference itself."""
    return vars(sys.modules[reference.__module__]) | {reference.__name__: reference}


@cache
def table(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Read the mistakes in a file, by the name of their reference."""
    tables = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for row in (row for rows in tables.values() for row in rows):
        row["says"] = in_language(row["says"])
    return tables


def wrong(
    row: Mapping[str, Any], source: str, names: Mapping[str, Any], name: str
) -> Callable[..., Any]:
    """Make the wrong answer that a row of a table describes."""
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
    """Apply changes to a source, one after the other.

    >>> changed("return mask & near", {"&": "|", "near": "far"})
    'return mask | far'

    Raises:
        ValueError: if one does not apply exactly once.
    """
    for right, replacement in changes.items():
        if source.count(right) != 1:
            found = source.count(right)
            raise ValueError(f"{right!r} occurs in the source {found} times, it must be once.")
        source = source.replace(right, replacement)
    return source


def source_of(reference: Callable[..., Any]) -> str:
    """Return the source of a function or a class without its decorators."""
    source = textwrap.dedent(inspect.getsource(reference))
    [node] = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    return "".join(source.splitlines(keepends=True)[node.lineno - 1 :])

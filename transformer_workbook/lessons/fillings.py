"""Fillings: what readers write into a gap, and what its check says, without the page's training.

Of the page, and of the cell of the gap, only those statements run that the answer needs.
"""

import ast
import linecache
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from symtable import symtable
from typing import Any

from transformer_workbook import exercises
from transformer_workbook.judge.tasks import Verdict
from transformer_workbook.lessons.gaps import Gap, Notebook, source_of

CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"


@cache
def wrong_fillings(chapter: str) -> dict[str, list[str]]:
    """Read the wrong fillings of a chapter's gaps, by the names of their checks."""
    file = CHAPTERS / chapter / "fillings.toml"
    found = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {check: [row["lines"] for row in rows] for check, rows in found.items()}


def judged(notebook: Notebook, gap: Gap, source: str) -> Verdict:
    """Return what the check of a gap says to its cell with this source."""
    above = notebook["cells"][: gap.cell]
    code = "\n".join(source_of(cell) for cell in above if cell["cell_type"] == "code")
    cell = slice_of(ast.parse(source).body, {gap.answer})
    needed = slice_of(ast.parse(code).body, loaded(cell))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    run(code, needed, f"<above {gap.check}>", namespace)
    run(source, cell, f"<{gap.check}>", namespace)
    verdict: Verdict = getattr(exercises, gap.check).check(namespace[gap.answer])
    return verdict


def run(source: str, body: list[ast.stmt], name: str, namespace: dict[str, Any]) -> None:
    """Run some statements of a source, under a name by which ``inspect`` finds it."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(ast.Module(body, []), name, "exec"), namespace)


def slice_of(body: list[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """Return the statements that bind these names, and what they need themselves."""
    kept: list[ast.stmt] = []
    for statement in reversed(body):
        if here := bound(statement) & names:
            kept.append(statement)
            names = (names - here) | loaded([statement])
    return kept[::-1]


def loaded(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names of the outermost level that some statements read: no local names."""
    waiting, found = [symtable("\n".join(map(ast.unparse, body)), "", "exec")], set[str]()
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        found |= {
            name.get_name()
            for name in table.get_symbols()
            if name.is_referenced() and (name.is_global() or table.get_type() == "module")
        }
    return found


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of the outermost level gives a value."""
    match statement:
        case ast.Import(names) | ast.ImportFrom(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return {name}
    nodes = ast.walk(statement)
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

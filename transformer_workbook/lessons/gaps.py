"""Gaps: the lines of a lesson that its reader writes.

A code cell marks them in its metadata: ``"blank": {"from": 7, "to": 10, "hint": "…"}``, lines
counted from 1, both ends included; a list if there are several ranges. The next cell checks them
with one call, ``exercises.positions(Positions)``. The stored notebook has the solution.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CHECK = re.compile(r"exercises\.(?P<name>\w+)\((?P<answer>\w+)\)")
SHAPE = re.compile(r"  # \(.*$")

Notebook = Mapping[str, Any]


@dataclass(frozen=True)
class Gap:
    """The marked lines of a cell, and the check below it."""

    cell: int
    """The number of the cell in its notebook, from 0."""
    source: str
    """The cell with the right lines."""
    ranges: tuple[tuple[int, int], ...]
    hint: str
    check: str
    """The name of the check in ``exercises``."""
    answer: str
    """What the check is called with: the name of the reader's function or class."""

    @property
    def lines(self) -> list[str]:
        """Return the marked lines as they are right."""
        every = self.source.splitlines()
        return [line for first, last in self.ranges for line in every[first - 1 : last]]

    def emptied(self) -> str:
        """Return the cell as its reader meets it.

        Assignments and returns keep what they are called and their shapes, ``name = None``; any
        other lines become one that raises.
        """
        lines = self.source.splitlines()
        for first, last in reversed(self.ranges):
            lines[first - 1 : last] = self._empty(first, last)
        return "\n".join(lines)

    def filled(self, written: str) -> str:
        """Return the cell with other lines in place of the marked ones.

        A line with "…" alone stands between the lines of one range and those of the next.
        """
        lines, parts = self.source.splitlines(), re.split(r"(?m)^\s*…\n", written)
        for (first, last), part in reversed([*zip(self.ranges, parts, strict=True)]):
            lines[first - 1 : last] = part.strip("\n").splitlines()
        return "\n".join(lines)

    def _empty(self, first: int, last: int) -> list[str]:
        lines = self.source.splitlines()
        inside = list(statements(ast.parse(self.source).body, first, last))
        kept = [left_open(statement) for statement in inside]
        if not all(kept):
            indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
            wanted = "line" if first == last else f"{last - first + 1} lines"
            return [f'{indent}raise NotImplementedError("yours to write")  # {wanted} in its place']
        found = []
        for statement, text in zip(inside, kept, strict=True):
            shape = SHAPE.search(lines[(statement.end_lineno or 0) - 1])
            found.append(" " * statement.col_offset + text + (shape.group() if shape else ""))
        return found


def statements(body: Sequence[ast.AST], first: int, last: int) -> Iterator[ast.stmt]:
    """Go through the outermost statements that lie in a range of lines."""
    for node in body:
        if isinstance(node, ast.stmt) and first <= node.lineno and (node.end_lineno or 0) <= last:
            yield node
        else:
            yield from statements(list(ast.iter_child_nodes(node)), first, last)


def left_open(statement: ast.stmt) -> str:
    """Return an assignment or a return with None, and nothing for any other statement."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            return f"{ast.unparse(target)} = None"
        case ast.Return():
            return "return None"
    return ""


def source_of(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell, which a file may hold as a list of lines."""
    return "".join(cell["source"])


def gaps_of(notebook: Notebook) -> list[Gap]:
    """List the gaps of a notebook.

    Raises:
        ValueError: if the cell below a gap is not its check.
    """
    code = [(i, cell) for i, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code"]
    found = []
    for (number, cell), (_, below) in zip(code, [*code[1:], (0, {"source": ""})], strict=True):
        if not (blank := cell["metadata"].get("blank")):
            continue
        ranges = blank if isinstance(blank, list) else [blank]
        check = CHECK.fullmatch(source_of(below).strip())
        if check is None:
            raise ValueError(f"cell {number} has a gap, and the cell below it is no check")
        hint = "\n\n".join(each["hint"] for each in ranges if "hint" in each)
        places = tuple((each["from"], each["to"]) for each in ranges)
        found.append(Gap(number, source_of(cell), places, hint, check["name"], check["answer"]))
    return found

"""Source code for a lesson: every line that runs, without docstrings and annotations."""

import ast
import inspect
import re
import tokenize
from collections.abc import Iterator
from io import StringIO
from itertools import accumulate
from textwrap import dedent
from typing import Any

WIDTH = 76
"""Maximum number of characters in a line of the page."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def show_source(*things: Any) -> Any:
    """Show the source of classes, functions or modules, as `compact` leaves it.

    IPython comes with ``pip install annotated-transformer[book]``; it is imported here, so that the
    package itself does not need it.
    """
    from IPython.display import Code

    sources = (compact(dedent(inspect.getsource(thing))) for thing in things)
    return Code("\n\n".join(sources), language="python")  # type: ignore[no-untyped-call]


def compact(source: str) -> str:
    """Remove docstrings, annotations of functions and comments for type checkers.

    The rest does the same. Fields of a class keep their annotations: they tell what it stores.

    >>> print(compact('def double(x: float) -> float:\\n    "Twice x."\\n    return 2 * x  # sum'))
    def double(x):
        return 2 * x  # sum
    <BLANKLINE>
    """
    # Columns of the syntax tree count bytes, so bytes are cut.
    text = source.encode()
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    def end(node: Any) -> int:
        return place(node.end_lineno, node.end_col_offset)

    lines = source.splitlines()
    colons = [
        place(token.start[0], len(lines[token.start[0] - 1][: token.start[1]].encode()))
        for token in tokenize.generate_tokens(StringIO(source).readline)
        if token.string == ":"
    ]
    cuts = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Function | ast.ClassDef | ast.Module):
            notes = [line for line in node.body if _is_note(line)]
            empty = len(notes) == len(node.body) and not isinstance(node, ast.Module)
            for number, note in enumerate(notes):
                if empty and number == 0:
                    cuts.append((place(note.lineno, note.col_offset), end(note), "pass"))
                else:  # the whole line is removed
                    cuts.append((starts[note.lineno - 1], end(note) + 1, ""))
        if isinstance(node, Function):
            begin = place(node.lineno, node.col_offset)
            header = max([begin, *(end(part) for part in _annotated(node))])
            colon = next(each for each in colons if each >= header)
            cuts.append((begin, colon, _signature(node, source)))
            for line in _statements(node):
                if isinstance(line, ast.AnnAssign) and line.value:
                    cuts.append((end(line.target), end(line.annotation), ""))
    for start, stop, instead in sorted(cuts, reverse=True):
        text = text[:start] + instead.encode() + text[stop:]
    return _close_gaps(text.decode())


def _is_note(line: ast.stmt) -> bool:
    """Tell whether a statement is a docstring: of what contains it, or of the name above it."""
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )


def _arguments(node: Function) -> list[ast.arg]:
    spec = node.args
    return [
        a for a in (*spec.posonlyargs, *spec.args, spec.vararg, *spec.kwonlyargs, spec.kwarg) if a
    ]


def _annotated(node: Function) -> Iterator[ast.AST]:
    """Iterate over the parts of a signature that may contain a colon before the last one."""
    yield from _arguments(node)
    yield from (value for value in (*node.args.defaults, *node.args.kw_defaults) if value)
    if node.returns:
        yield node.returns


def _signature(node: Function, source: str) -> str:
    """Write the signature without annotations, on one line if it fits."""
    spec = node.args
    plain = [*spec.posonlyargs, *spec.args]
    defaults = [None] * (len(plain) - len(spec.defaults)) + spec.defaults + spec.kw_defaults
    named = [*plain, *spec.kwonlyargs]
    written = {
        argument.arg: f"={ast.get_source_segment(source, value)}" if value else ""
        for argument, value in zip(named, defaults, strict=True)
    }
    parts = [a.arg + written[a.arg] for a in plain]
    if spec.posonlyargs:
        parts.insert(len(spec.posonlyargs), "/")
    if spec.vararg or spec.kwonlyargs:
        parts.append(f"*{spec.vararg.arg}" if spec.vararg else "*")
    parts += [a.arg + written[a.arg] for a in spec.kwonlyargs]
    parts += [f"**{spec.kwarg.arg}"] if spec.kwarg else []
    indent, inside = " " * node.col_offset, ", ".join(parts)
    head = f"{'async ' * isinstance(node, ast.AsyncFunctionDef)}def {node.name}("
    if len(indent + head + inside) + 2 > WIDTH:
        inside = f"\n{indent}    {inside}\n{indent}"
    return f"{head}{inside})"


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Iterate over the statements of a function, but not of the classes and functions in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.ClassDef | Function):
            yield child
            yield from _statements(child)


def _close_gaps(text: str) -> str:
    """Remove the lines that a docstring has left, and comments that only a type checker reads."""
    text = re.sub(r"(?m)  # type: ignore(\[[\w, -]+\])?$", "", text)
    text = re.sub(r"(?m)(^ *(?:class|def|async def)\b.*:\n|^ *\):\n)\n+", r"\1", text)
    return text.strip("\n") + "\n"

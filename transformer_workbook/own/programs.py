"""Programs: a question of a check as a standalone program, made of the code that asks it."""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from functools import cache, partial
from itertools import chain
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from torch import Tensor

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import StrPath, require_path
from transformer_workbook.own.bench import findings
from transformer_workbook.own.checks import Check
from transformer_workbook.own.definitions import extent, ours
from transformer_workbook.own.judgement import checks_of, subjects_of
from transformer_workbook.own.syllabus import asked_for

Function = Callable[..., Any]

PROGRAM = """# {module}, {subject}: {claim}

{imports}

{definitions}
# Your module, with the course's in place of all others.
torch.set_default_dtype(torch.float64)
m = alone({folder!r}, {module!r})

{values}{want}
{before}torch.manual_seed(0)
{ask}
{after}assert equal(given, right), difference(given, right)
"""


def question(folder: StrPath, name: str, what: str | int | None = None) -> str:
    """Make a program of the question behind a finding about a function or class.

    It is the first question that is answered wrong, or the first of all.

    Raises:
        InputError: if there is no such package, or nothing of that name is checked.
    """
    asked = {m: subjects_of(m) for m in asked_for(None if what is None else str(what))}
    chosen = [m for m in asked if name in (f"{m}.py", *asked[m], *ours(m))]
    names = {name, name.partition(".")[0]}
    about = [f for f in findings(folder, chosen) if names & {f.place, f.subject}]
    if not about:
        near = get_close_matches(name, [*chain(*asked.values())], n=1, cutoff=0.0)
        raise InputError(f"nothing is asked about {name!r}: did you mean {near[0]}?")
    first = min(about, key=lambda f: (f.state != "wrong", f.place != name, f.depends))
    check = checks_of(first.module, first.subject)[first.question]
    return program(require_path("folder", folder), first.module, check)


def program(folder: Path, module: str, check: Check) -> str:
    """Make a program that asks a question; it is silent if the answer is right."""
    parts = _Parts(check.ask.__module__)
    ask = parts.call("given", check.ask, "m")
    inputs = ", ".join(sorted(parts.inputs))
    want = parts.call("right", check.want)
    parts.imports |= {("transformer_workbook.own", "alone", "alone"), ("", "torch", "torch")}
    for name in ("difference", "equal", *["copied"] * bool(inputs)):
        parts.imports.add(("transformer_workbook.judge", name, name))
    before = f"before = copied([{inputs}])\n"
    after = f'assert equal([{inputs}], before), "it changes its arguments in place"\n'
    return PROGRAM.format(
        module=module,
        subject=check.subject,
        claim=check.question,
        folder=str(folder.resolve()),
        imports="\n".join(parts.import_lines()),
        definitions="".join(parts.definitions()),
        values="".join(parts.values),
        want=want,
        before=before * bool(inputs),
        ask=ask,
        after=after * bool(inputs),
    )


class _Parts:
    """The parts of a program: definitions of the module that asks, and imports from elsewhere."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.names: set[str] = set()
        self.inputs: set[str] = set()
        self.values: dict[str, None] = {}
        self.imports: set[tuple[str, str, str]] = set()

    def call(self, name: str, function: Function, *arguments: str) -> str:
        """Give a name to what a function returns: to its expression, if it is a lambda."""
        if not _is_lambda(function):
            return f"{name} = {self.value(function)}({', '.join(arguments)})"
        node = _lambda(function)
        defaults = node.args.args[len(node.args.args) - len(node.args.defaults) :]
        bound = {a.arg: x for a, x in zip(defaults, function.__defaults__ or (), strict=True)}
        bound |= inspect.getclosurevars(function).nonlocals
        lines = (f"{known} = {self.value(value)}\n" for known, value in bound.items())
        self.values |= dict.fromkeys(lines)
        self.need(node.body, function.__globals__, bound)
        return f"{name} = {_text(function.__module__, node.body)}"

    def value(self, value: Any) -> str:
        """Write a value as code."""
        if isinstance(value, partial):
            self.imports.add(("functools", "partial", "partial"))
            named = [f"{name}={self.value(entry)}" for name, entry in value.keywords.items()]
            return f"partial({', '.join([*map(self.value, (value.func, *value.args)), *named])})"
        if not callable(value):
            return repr(value)
        if _is_lambda(value):
            self.need(_lambda(value).body, value.__globals__)
            return _text(value.__module__, _lambda(value))
        if value.__module__ != "builtins":
            self.need(ast.Name(value.__name__, ast.Load()), vars(sys.modules[value.__module__]))
        return str(value.__name__)

    def need(self, node: ast.AST, world: dict[str, Any], bound: Collection[str] = ()) -> None:
        """Note which names of its module a piece of code reads."""
        room = world["__name__"]
        for name in _names(node, ast.Load) & world.keys() - {*bound} - self.names:
            if isinstance(world[name], Tensor | list):
                self.inputs.add(name)
            if imported := _imported(room).get(name):
                self.imports.add(imported)
            elif room == self.home:
                self.names.add(name)
                self.need(_defined(room)[name], world)
            else:
                self.imports.add((room, name, name))

    def definitions(self) -> Iterator[str]:
        """Iterate over the needed definitions of the module, in their order."""
        needed = {_defined(self.home)[name] for name in self.names}
        for node in (node for node in _tree(self.home).body if node in needed):
            space = "\n\n" * isinstance(node, ast.FunctionDef | ast.ClassDef)
            yield f"{space}{_text(self.home, node)}\n"

    def import_lines(self) -> Iterator[str]:
        """Iterate over the imports, those of whole modules first."""
        for module in sorted({module for module, *_ in self.imports}):
            pairs = sorted({(name, known) for m, name, known in self.imports if m == module})
            names = [name if name == known else f"{name} as {known}" for name, known in pairs]
            if module:
                yield f"from {module} import {', '.join(names)}"
            else:
                yield from (f"import {name}" for name in names)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, context)}


@cache
def _defined(module: str) -> dict[str, ast.stmt]:
    """Return the statements of a module that define something, by name."""
    found: dict[str, ast.stmt] = {}
    for node in _tree(module).body:
        own = {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else None
        found |= dict.fromkeys(own or _names(node, ast.Store), node)
    return found


@cache
def _imported(module: str) -> dict[str, tuple[str, str, str]]:
    """Return what a module imports: from where, what, and under which name."""
    found = {}
    for node in _tree(module).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                known = alias.asname or alias.name
                found[known] = (getattr(node, "module", None) or "", alias.name, known)
    return found


def _is_lambda(function: Function) -> bool:
    return getattr(function, "__name__", "") == "<lambda>"


def _lambda(function: Function) -> ast.Lambda:
    """Return the code of a lambda, found by its position in the file."""
    code = function.__code__
    nodes = [node for node in ast.walk(_tree(function.__module__)) if isinstance(node, ast.Lambda)]
    nodes = [node for node in nodes if node.lineno == code.co_firstlineno]
    if len(nodes) > 1:
        places = {*code.co_positions()}
        nodes = [node for node in nodes if _span(node.body) in places]
    [node] = nodes
    return node


def _span(node: ast.expr) -> tuple[Any, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _text(module: str, node: Any) -> str:
    """Return a piece of a module's text; an expression of several lines in parentheses."""
    lines = inspect.getsource(sys.modules[module]).splitlines()
    piece = lines[extent(node)]
    piece[-1] = piece[-1].encode()[: node.end_col_offset].decode()
    piece[0] = piece[0].encode()[node.col_offset :].decode()
    rest = "\n".join(piece[1:])
    if isinstance(node, ast.expr):  # it is part of another expression
        rest = dedent(rest)
    text = re.sub(r"  # type: ignore.*", "", "\n".join([piece[0], rest])).rstrip()
    return text if _is_code(text) else f"(\n{indent(text, '    ')}\n)"


def _is_code(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True

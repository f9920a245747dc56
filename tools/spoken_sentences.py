"""Collect what the command line says: its help, and the sentences in the sources, as templates.

An f-string is a template, its values are placeholders by name. A value that is a text itself, of a
local name, a property or a function, is put in its place: a message is a whole sentence.
"""

import ast
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import typer
from pydantic import TypeAdapter
from typer.main import get_command

from annotated_transformer import cli
from annotated_transformer.cli.formats import EXPORTS
from annotated_transformer.decoding import Search
from annotated_transformer.evaluation import METRICS
from annotated_transformer.ground.sentences import PLACEHOLDER
from annotated_transformer.ground.settings import requirement
from annotated_transformer.models import MODELS
from annotated_transformer.run import PRESETS, Recipe
from annotated_transformer.run.progress import Progress

Text = tuple[str | ast.expr, ...]
"""A template: what is said, and the expressions of its values."""
Names = dict[str, list[ast.expr]]
"""What the names of a function are."""
Within = tuple[tuple[str, int], ...]
"""The names that are being followed, each of a function."""

FORMATTED = re.compile(r"\{\{(?:![rs])?\}\}")
ROOT = Path(__file__).resolve().parent.parent
WHERE = (
    "annotated_transformer/**/*.py",
    *(
        f"transformer_workbook/{part}"
        for part in ("commands.py", "places.py", "own/*.py", "lessons/*.py")
    ),
)
"""The modules of the package, and those of the workbook that its commands are made of."""
NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")
SAYING = {"say", "tell", "spoken", "Score"}
PASSING = {
    "require_empty",
    "require_known",
    "require_lines",
    "require_settings",
    "with_short_words",
}
"""Functions that put a text, which they are given, into the message of an error."""
ERRORS = {"InputError", "DivergedError", "FolderTakenError", "OSError", "ConnectionError"}
WITH_TEXT = SAYING | PASSING | ERRORS
OF_OTHERS = (
    "Usage:", "Arguments:", "Options:", "Commands:", "[default:", "[required]",
    "Missing command.", "Missing argument {name}.", "No such command {name}.",
    "No such command {name}. Did you mean {others}?", "No such option: {name}",
    "No such option: {name} (Possible options: {others})", "Option {name} requires an argument.",
    "Option {name} does not take a value.", "Got unexpected extra argument(s) ({given})",
    "Invalid value for {name}: {message}", "{value} should be greater than or equal to {least}.",
    "{value} should be less than or equal to {most}.",
    "{value} should be a valid integer, unable to parse string as an integer.",
    "{value} should be a valid number, unable to parse string as a number.",
    "[Errno {number}] {reason}: {path}", "No such file or directory", "Permission denied",
    "Is a directory", "Not a directory", "File exists", "File name too long",
    "No space left on device", "Read-only file system", "Input/output error",
    "'utf-8' codec can't decode byte {byte} in position {position}: {reason}",
    "invalid start byte", "invalid continuation byte", "unexpected end of data",
    "{reason}: line {line} column {column} (char {at})", "Expecting value", "Extra data",
    "Expecting property name enclosed in double quotes", "Expecting ',' delimiter",
    "Expecting ':' delimiter", "Unterminated string starting at", "Invalid control character at",
)  # fmt: skip
"""What Typer, Python and the system say, which the command line passes on."""


class Sources:
    """The sources of some modules, and what their functions return."""

    def __init__(self, sources: Iterable[str]) -> None:
        """Parse them."""
        self.modules = [ast.parse(source) for source in sources]
        self.returned = defaultdict[str, list[tuple[ast.expr, Names]]](list)
        for module in self.modules:
            for function, names in functions(module):
                if "str" in ast.unparse(function.returns or ast.Constant("")).split(" | "):
                    for node in ast.walk(function):
                        if isinstance(node, ast.Return) and ast.unparse(node) != "return None":
                            self.returned[function.name].append((node.value, names))

    def messages(self) -> Iterator[str]:
        """Go through the sentences that are said or raised."""
        for module in self.modules:
            for function, names in functions(module):
                for call in ast.walk(function):
                    if isinstance(call, ast.Call) and ast.unparse(call.func) in WITH_TEXT:
                        for given in call.args:
                            yield from map(template, self.texts(given, names))

    def texts(self, node: ast.expr, names: Names, within: Within = ()) -> list[Text]:
        """Return what an expression may say, or nothing if it is not a text of ours."""
        match node:
            case ast.Constant(value=str(text)):
                return [(text.replace("{", "{{").replace("}", "}}"),)]
            case ast.JoinedStr(values=parts):
                each = [self.texts(part, names, within) for part in parts]
                return [sum(several, ()) for several in itertools.product(*each)]
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self.texts(value, names, within) or [(value,)]
            case ast.FormattedValue(value=value):
                return [(value,)]
            case ast.BinOp(left=one, op=ast.Add(), right=other):
                each = [self.texts(part, names, within) for part in (one, other)]
                return [sum(several, ()) for several in itertools.product(*each)]
            case ast.BinOp(left=one, op=ast.Mult()):
                return [(), *said] if (said := self.texts(one, names, within)) else []
            case ast.IfExp(body=one, orelse=other) | ast.BoolOp(op=ast.Or(), values=[one, other]):
                return self.any_of([(one, names), (other, names)], within)
            case ast.Call(func=ast.Attribute(value=one, attr="format"), args=given):
                values = iter(given)
                return [
                    tuple(part for text in said for part in with_values(text, values))
                    for said in self.texts(one, names, within)
                ]
            case ast.Name(id=name) if name in names and (name, id(names)) not in within:
                found = [(value, names) for value in names[name]]
                return self.any_of(found, (*within, (name, id(names))), node)
            case (
                ast.Attribute(attr=name)
                | ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))
            ) if name in self.returned and (name, 0) not in within:
                return self.any_of(self.returned[name], (*within, (name, 0)), node)
        return []

    def any_of(
        self,
        found: list[tuple[ast.expr, Names]],
        within: Within,
        whole: ast.expr | None = None,
    ) -> list[Text]:
        """Return what any of some expressions says; one that is no text is a placeholder."""
        each = [(self.texts(value, names, within), value) for value, names in found]
        if not any(said for said, _ in each):
            return []
        return [text for said, value in each for text in said or [(whole or value,)]]


def with_values(text: str | ast.expr, values: Iterator[ast.expr]) -> Iterator[str | ast.expr]:
    """Put the arguments of ``format`` into a text that it is called for."""
    if isinstance(text, ast.expr):
        yield text
        return
    for at, part in enumerate(FORMATTED.split(text)):
        yield from ((next(values), part) if at else (part,))


def functions(module: ast.Module) -> Iterator[tuple[ast.FunctionDef, Names]]:
    """Go through the functions and methods of a module, with what their names are."""
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    for part in (module, *classes):
        for function in part.body:
            if isinstance(function, ast.FunctionDef):
                yield function, names_in([*module.body, *ast.walk(function)])


def names_in(nodes: list[Any]) -> Names:
    """Return what is given names; a loop over a tuple gives one value after the other."""
    found = defaultdict[str, list[ast.expr]](list)

    def bind(target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _:
                found[name].append(value)
            case ast.Tuple(elts=targets), ast.Tuple(elts=values):
                for one, other in zip(targets, values, strict=True):
                    bind(one, other)
            case ast.Tuple(), ast.IfExp(body=one, orelse=other):
                bind(target, one)
                bind(target, other)

    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[target], value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                bind(target, value)
            case ast.For(target=target, iter=ast.Tuple(elts=values)):
                for value in values:
                    bind(target, value)
    return found


def template(text: Text) -> str:
    """Name the values of a text, each expression once."""
    names: dict[str, str] = {}
    for part in text:
        if isinstance(part, ast.expr) and (code := ast.unparse(part)) not in names:
            name = name_of(part)
            number = sum(re.fullmatch(rf"{name}\d*", known) is not None for known in names.values())
            names[code] = f"{name}{number + 1 if number else ''}"
    shown = [part if isinstance(part, str) else f"{{{names[ast.unparse(part)]}}}" for part in text]
    return "".join(shown)


def name_of(value: ast.expr) -> str:
    """Return the last name in an expression that is no function."""
    called = {node.func for node in ast.walk(value) if isinstance(node, ast.Call)}
    named = [
        (node.end_col_offset, node.id if isinstance(node, ast.Name) else node.attr)
        for node in ast.walk(value)
        if isinstance(node, ast.Name | ast.Attribute) and node not in called
    ]
    return max((each for each in named if "__" not in each[1]), default=(0, "value"))[1].lower()


def of_the_help() -> Iterator[str]:
    """Go through what the help says of commands, and of what they take."""
    program = get_command(cli.app)
    for command in (program, *program.commands.values()):
        for part in (command, *command.get_params(typer.Context(command))):
            yield part.help


def of_the_settings() -> Iterator[str]:
    """Go through what settings must be, with placeholders for their numbers."""
    for kind in (Recipe, Search, Progress, *(known.config for known in MODELS.values())):
        for name in (field.name for field in fields(kind)):
            count = itertools.count(1)
            schema = TypeAdapter(get_type_hints(kind, include_extras=True)[name]).json_schema()
            if "enum" not in schema:
                yield NUMBER.sub(
                    lambda _, count=count: f"{{value{next(count)}}}", requirement(schema)
                )


def spoken_sentences() -> list[str]:
    """Return all templates that have a word of their own, each once."""
    paths = [path for pattern in WHERE for path in sorted(ROOT.glob(pattern))]
    sources = Sources(path.read_text(encoding="utf-8") for path in paths)
    found = itertools.chain(
        of_the_help(), (preset.meaning for preset in PRESETS.values()), METRICS,
        (then for _, then in EXPORTS.values()), sources.messages(), of_the_settings(), OF_OTHERS,
    )  # fmt: skip
    return [
        each for each in dict.fromkeys(found) if re.search("[a-z]{2}", PLACEHOLDER.sub("", each))
    ]

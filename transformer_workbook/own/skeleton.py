"""Skeleton: a package for the reader to write, made from the source of our own."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc, isfunction, signature
from pathlib import Path

import annotated_transformer
from annotated_transformer import __version__
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import StrPath, require_path
from annotated_transformer.run.files import fill_folder, write_atomically
from transformer_workbook.chapters import chapter_of
from transformer_workbook.own.definitions import extent, source_of
from transformer_workbook.own.syllabus import (
    MODULES_BY_CHAPTER,
    PACKAGE,
    WRITTEN,
)

GIVEN = {
    "Vocabulary.from_json", "Vocabulary.to_json", "_require_our_rules", "_our_rules", "_agrees",
    "Trainer.__init__", "Trainer.tensors", "Trainer.load", "Trainer.auxiliary",
    "TextBatch.inputs", "Batch.inputs", "batch_of", "SoftLookup.__call__", "Search.__post_init__",
    "Limits.__init__", "Limits.force", "Limits.reached", "draw", "random_draws",
}  # fmt: skip
"""What a reader gets unchanged: files, random numbers, refusals and limits are not exercises."""


def skeleton(source: str, chapter: int) -> str:
    """Return the source with all explanations, and with empty functions.

    It keeps signatures, docstrings, constants, the fields of classes, configurations, and the names
    in ``GIVEN``. A constructor lists the names of the attributes that it has to make.

    >>> print(skeleton('def double(x):\\n    "Twice x."\\n    return 2 * x  # sum', 5))
    def double(x):
        "Twice x."
        raise NotImplementedError("double: chapter 5")
    <BLANKLINE>
    """
    lines = source.splitlines()
    cuts: list[tuple[int, int, list[str]]] = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            cuts.append(_emptied(node, node.name, chapter))
        elif isinstance(node, ast.ClassDef) and not node.name.endswith("Config"):
            methods = [child for child in node.body if isinstance(child, ast.FunctionDef)]
            cuts += [_emptied(method, f"{node.name}.{method.name}", chapter) for method in methods]
    for first, last, instead in sorted(cuts, reverse=True):
        lines[first - 1 : last] = instead
    imports = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
    if imports:
        end = imports[-1].end_lineno or 0
        helpers = [line for node in imports for line in _helpers(node)]
        lines[end:end] = ["", "# To refuse is to raise an InputError.", *helpers] * bool(helpers)
    text = "\n".join(lines).rstrip() + "\n"
    for module in WRITTEN:
        text = re.sub(rf"\bannotated_transformer\.{module}\b", f"{PACKAGE}.{module}", text)
    return text


def _helpers(node: ast.ImportFrom) -> Iterator[str]:
    """List, as comments, the helpers of ours that a module imports, with their docstrings."""
    ours, _, module = str(node.module).partition(".")
    if ours == annotated_transformer.__name__ and module not in WRITTEN:
        found = (getattr(import_module(str(node.module)), alias.name) for alias in node.names)
        for function in filter(isfunction, found):
            given = (p.replace(annotation=p.empty) for p in signature(function).parameters.values())
            does, _, _ = str(getdoc(function)).partition("\n")
            yield from _wrapped(f"{function.__name__}({', '.join(map(str, given))}): {does}", "")


def _emptied(node: ast.FunctionDef, name: str, chapter: int) -> tuple[int, int, list[str]]:
    """Return the first and the last line of a function's body, and the lines that replace them."""
    end = node.end_lineno or node.lineno
    if name in GIVEN or _only_raises(node):
        return end + 1, end, []
    if node.name.startswith("_") and not node.name.startswith("__"):
        return extent(node).start + 1, end, []
    indent = " " * (node.col_offset + 4)
    rest = node.body[1:] if ast.get_docstring(node) else node.body
    first = (node.body[0].end_lineno or 0) + 1 if len(rest) < len(node.body) else rest[0].lineno
    instead = [f'{indent}raise NotImplementedError("{name}: chapter {chapter}")']
    if node.name == "__init__" and (parts := _parts(node)):
        instead.insert(0, f"{indent}# Its parts, by name: {', '.join(parts)}.")
        instead[0:1] = _wrapped(instead[0], indent)
    return first, end, instead


def _only_raises(node: ast.FunctionDef) -> bool:
    """Tell whether a function is also empty in our package."""
    return isinstance(node.body[-1], ast.Raise) and len(node.body) == 2


def _parts(node: ast.FunctionDef) -> list[str]:
    """List what a constructor makes: the name of each attribute, and what it is made by."""
    parts = []
    for line in ast.walk(node):
        if not isinstance(line, ast.Assign):
            continue
        for target in line.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = line.value.elts if isinstance(line.value, ast.Tuple) else [line.value]
            values = values * (len(names) if len(values) < len(names) else 1)
            for part, value in zip(names, values, strict=False):
                if isinstance(part, ast.Attribute) and ast.unparse(part).count(".") == 1:
                    parts.append(part.attr + _made_by(value))
    return list(dict.fromkeys(parts))


def _made_by(value: ast.expr) -> str:
    if not isinstance(value, ast.Call) or not re.fullmatch(r"[\w.]+", ast.unparse(value.func)):
        return ""
    fixed = [ast.unparse(word) for word in value.keywords if isinstance(word.value, ast.Constant)]
    return f" ({', '.join([ast.unparse(value.func), *fixed])})"


def _wrapped(comment: str, indent: str) -> list[str]:
    """Wrap a comment into lines."""
    lines = [""]
    for word in comment.removeprefix(indent + "# ").split(" "):
        if len(indent) + len(lines[-1]) + len(word) > 96:
            lines.append("")
        lines[-1] += f" {word}"
    return [f"{indent}#{line}" for line in lines]


PROJECT = f"""[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "{PACKAGE.replace("_", "-")}"
version = "0.1.0"
description = "The Transformer, written by myself."
requires-python = ">=3.11"
dependencies = ["annotated-transformer>={__version__}"]

[tool.hatch.build.targets.wheel]
packages = ["{PACKAGE}"]
"""

README = """# My Transformer

A package to be written: the models of *The Annotated Transformer*, from tokens to a language model.
Every function says what it has to do; where it raises `NotImplementedError`, it is yours. What you
need from elsewhere (errors, settings, corpora, files) is imported from `annotated_transformer`.

Write the modules in this order. Each is checked by itself: until yours are finished, the course's
own stand in for them.

| chapter | module | what it holds |
| ---: | --- | --- |
{rows}

In this folder:

```sh
annotated-transformer check .        # everything, as a table
annotated-transformer check . 06     # one chapter
annotated-transformer check . loss   # one module
annotated-transformer check . --show pad    # the question behind a finding, as a program
```

A check says what is wrong: the mistake if it knows it, else the line where a small change makes
all answers right, or an input that gives a wrong result. Names of functions and of parts (the
comment in each constructor) are an agreement: keep them, and weights that were trained with the
course's package fit into yours. Add functions as you like.

```sh
git init && git add . && git commit -m "An empty Transformer"
pip install --editable .
```
"""


def start(folder: StrPath) -> None:
    """Write a package of empty functions into a new folder: all of it, or nothing.

    Raises:
        InputError: if there is a folder or a file of that name.
    """
    folder = require_path("folder", folder)
    if folder.exists():
        raise InputError(f"{folder} exists already: choose a new folder.")
    fill_folder(folder, _write)


def _write(folder: Path) -> None:
    rows, inside = [], folder / PACKAGE
    inside.mkdir()
    write_atomically(inside / "__init__.py", '"""The Transformer, written by myself."""\n')
    for module in MODULES_BY_CHAPTER:
        source, chapter = source_of(module), chapter_of(module)
        write_atomically(inside / f"{module}.py", skeleton(source, chapter))
        purpose = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
        rows.append(f"| {chapter} | `{module}` | {purpose.partition(': ')[2] or purpose} |")
    write_atomically(folder / "README.md", README.format(rows="\n".join(rows)))
    write_atomically(folder / "pyproject.toml", PROJECT)
    write_atomically(folder / ".gitignore", "__pycache__/\n*.egg-info/\n")

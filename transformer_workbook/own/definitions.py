"""Definitions: what a module defines, by name, and how two sources differ."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import annotated_transformer

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign

SOURCES = Path(annotated_transformer.__file__).parent


def source_of(module: str) -> str:
    """Return the source of a module of ours."""
    return (SOURCES / f"{module}.py").read_text(encoding="utf-8")


@cache
def ours(module: str) -> dict[str, Definition]:
    """Return the definitions of a module of ours."""
    return dict(definitions(ast.parse(source_of(module))))


def definitions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Iterate over functions, constants and methods by name; then over classes as a whole."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    others = (node for node in tree.body if isinstance(node, Definition) and node not in classes)
    yield from ((name_of(node), node) for node in others)
    for node in classes:
        methods = (child for child in node.body if isinstance(child, ast.FunctionDef))
        yield from ((f"{node.name}.{method.name}", method) for method in methods)
    yield from ((node.name, node) for node in classes)


def name_of(node: ast.AST) -> str:
    """Return the name that a statement defines, if it is only one."""
    targets = getattr(node, "targets", [getattr(node, "target", node)])
    return str(getattr(targets[0], "id", getattr(node, "name", "")))


def extent(node: ast.stmt | ast.expr) -> slice:
    """Return which lines of its module a piece of code has, with its decorators."""
    first = min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", ()))])
    return slice(first - 1, node.end_lineno)


def is_private(name: str) -> bool:
    """Tell whether a name is for its module or class alone: another need not have it."""
    return name.split(".")[-1].startswith("_") and not name.endswith("__")


def differing(tree: ast.Module, module: str) -> Iterator[str]:
    """Iterate over the names of ours that a reader's module defines differently, or not at all."""
    theirs = dict(definitions(tree))
    for name, node in ours(module).items():
        if ast.dump(theirs[name]) != ast.dump(node) if name in theirs else not is_private(name):
            yield name

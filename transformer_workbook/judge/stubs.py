"""Stubs: whether a function, or a gap in it, is still unwritten."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any


def is_stub(function: Callable[..., Any]) -> bool:
    """Tell whether a function ends with `return None`, or has no readable source, such as a lambda.

    A function that ends otherwise, and still returns None, lacks a `return`.
    """
    match _statements(function):
        case [
            ast.FunctionDef(
                body=[
                    *_,
                    ast.Return(value=None | ast.Constant(None))
                    | ast.Pass()
                    | ast.Expr(ast.Constant()),
                ]
            )
        ]:
            return True
        case [ast.FunctionDef()]:
            return False
    return True


def has_empty_lines(answer: Callable[..., Any]) -> bool:
    """Tell whether a line of a gap is as it was given: `name = None`, `return None`, or raising."""
    return any(_is_empty(node) for syntax in syntax_of(answer) for node in syntax)


def syntax_of(answer: Any) -> Iterator[Iterator[ast.AST]]:
    """Iterate over the syntax of a function, or of each method of a class."""
    written = vars(answer).values() if isinstance(answer, type) else [answer]
    for statement in (node for x in written if inspect.isfunction(x) for node in _statements(x)):
        yield ast.walk(statement)


def _statements(function: Callable[..., Any]) -> list[ast.stmt]:
    """Parse the source of a function; there is none if it was typed at a prompt."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return []


def _is_empty(node: ast.AST) -> bool:
    match node:
        case ast.Assign(value=ast.Constant(None)) | ast.Return(value=ast.Constant(None)):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name("NotImplementedError"))):
            return True
    return False

"""Stubs: whether a function, or a gap in it, is still unwritten."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def is_stub(function: Callable[..., Any]) -> bool:
    """Tell whether a function ends with `return None`, or has no readable source, such as a lambda.

    A function that ends otherwise, and still returns None, lacks a `return`.
    """
    try:
        [node] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return True
    if not isinstance(node, ast.FunctionDef):
        return True
    match node.body[-1]:
        case ast.Return(value=None | ast.Constant(None)) | ast.Pass() | ast.Expr(ast.Constant()):
            return True
    return False


def has_empty_lines(answer: Callable[..., Any]) -> bool:
    """Tell whether a line of a gap is as it was given: `name = None`, `return None`, or raising."""
    written = vars(answer).values() if isinstance(answer, type) else [answer]
    return any(map(_has_empty_lines, filter(inspect.isfunction, written)))


def _has_empty_lines(function: Callable[..., Any]) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False  # typed at a prompt: no line is known to be empty
    return any(map(_is_empty, ast.walk(tree)))


def _is_empty(node: ast.AST) -> bool:
    match node:
        case ast.Assign(value=ast.Constant(None)) | ast.Return(value=ast.Constant(None)):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name("NotImplementedError"))):
            return True
    return False

"""Stubs: whether a function is still what a reader begins with."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def is_stub(function: Callable[..., Any]) -> bool:
    """Whether a function ends with `return None`, or cannot be read as one, such as a lambda.

    What ends otherwise, and still returns None, lacks a `return`.
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

"""Stubs: whether a function is still unwritten."""

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

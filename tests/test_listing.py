"""The compact view of a source: the same code, every comment, and no small print."""

import ast
import importlib
import inspect
import io
import tokenize

import pytest
from api_page import modules

from transformer_workbook.notebook.listing import compact, show_source


class Strip(ast.NodeTransformer):
    """Take docstrings and annotations out of a syntax tree: the way of the library."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        for inner in ast.walk(node):
            for name, value in ast.iter_fields(inner):
                if isinstance(value, list) and not isinstance(inner, ast.ClassDef):
                    setattr(inner, name, [self.plain(child) for child in value])
        return self.without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self.without_docstring(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self.without_docstring(node)

    @staticmethod
    def plain(node: object) -> object:
        if isinstance(node, ast.AnnAssign) and node.value:
            return ast.Assign([node.target], node.value)
        return node

    def without_docstring(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        body = [line for line in node.body if not self.is_text(line)]  # type: ignore[attr-defined]
        node.body = body or ([] if isinstance(node, ast.Module) else [ast.Pass()])  # type: ignore[attr-defined]
        return node

    @staticmethod
    def is_text(line: ast.AST) -> bool:
        """A statement that is nothing but a string does nothing when it is run."""
        return isinstance(line, ast.Expr) and isinstance(getattr(line.value, "value", None), str)


def comments(source: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


@pytest.mark.parametrize("name", modules())
def test_the_compact_view_of_a_module_is_the_same_code(name: str) -> None:
    source = inspect.getsource(importlib.import_module(name))
    view = compact(source)
    assert ast.unparse(ast.parse(view)) == ast.unparse(
        ast.fix_missing_locations(Strip().visit(ast.parse(source)))
    )
    assert comments(view) == [c for c in comments(source) if not c.startswith("# type: ignore")]
    assert "\n\n\n\n" not in view


@pytest.mark.parametrize(
    ("source", "view"),
    [
        ("def f(a: int, /, b: str = 'x:', *c: int, d: int = 1, **e: int) -> None:\n    g()",
         "def f(a, /, b='x:', *c, d=1, **e):\n    g()\n"),
        ("def f(*, a: float = 1e-5): return a", "def f(*, a=1e-5): return a\n"),
        ("def f(\n    a: int,  # here: why\n    b: object = lambda x: x,  # there: why\n):\n"
         "    return a", "def f(a, b=lambda x: x):\n    return a\n"),
        ("class E(Exception):\n    '''An error.'''", "class E(Exception):\n    pass\n"),
        ("class C:\n    '''Doc.'''\n\n    a: int = 1\n\n    def f(self) -> int:\n        # why\n"
         "        b: int = 2\n        return b",
         "class C:\n    a: int = 1\n\n    def f(self):\n        # why\n        b = 2\n"
         "        return b\n"),
        ("class C:\n    a: int = 1\n    '''What it is.'''\n    b = 2",
         "class C:\n    a: int = 1\n    b = 2\n"),
        ("def f(a: 'ä') -> 'ö':\n    '''Ü.'''\n    return 'é'  # ß",
         "def f(a):\n    return 'é'  # ß\n"),
    ],
)  # fmt: skip
def test_what_is_folded_away(source: str, view: str) -> None:
    assert compact(source) == view


def test_a_long_signature_is_broken_once() -> None:
    names = [f"argument_{i}" for i in range(6)]
    view = compact(f"def f({': int, '.join(names)}: int) -> None:\n    pass")
    assert view == f"def f(\n    {', '.join(names)}\n):\n    pass\n"


def test_several_things_are_shown_one_below_the_other() -> None:
    shown = show_source(comments, Strip.plain).data
    assert shown.startswith("def comments(source):\n    tokens")
    assert "\n\n@staticmethod\ndef plain(node):\n" in shown

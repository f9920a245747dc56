"""Repair: find a small change of the reader's code that would make it right.

It finds what no catalogue has: at the place of the mistake, one operator, name or number
after the other is changed, until all answers are right. The place is reported, not the change.
"""

import ast
import time
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from transformer_workbook.judge.sentences import said, to_say

SECONDS = 15.0
"""How long changes are tried."""

OPPOSITE = to_say("the opposite of this is asked for.")
MORE = to_say("a part of this should not be there.")
OPERATOR = to_say("another operator belongs here.")
NUMBER = to_say("another number belongs here.")
NAME = to_say("another name belongs here.")
ORDER = to_say("the parts belong in another order.")
SIGN = to_say("a sign, a ~ or a not is missing here.")
LESS = to_say("something is missing here.")
LINE = to_say("this line should not be there.")
KINDS = OPPOSITE, MORE, OPERATOR, NUMBER, NAME, ORDER, SIGN, LESS, LINE
"""The order in which they are tried."""

COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult,
              ast.BitAnd, ast.BitOr)  # fmt: skip
ALIKE = (
    "argmax argmin", "max min sum mean", "any all", "sin cos", "softmax log_softmax", "log exp",
    "tanh sigmoid relu", "repeat_interleave repeat", "squeeze unsqueeze", "zeros ones",
    "new_zeros new_ones", "tril triu",
)  # fmt: skip
"""Functions that are confused with each other."""
READ = ast.Load()
PARTS = ast.Slice(ast.Constant(1)), ast.Slice(None, ast.UnaryOp(ast.USub(), ast.Constant(1)))
"""All except the first, and all except the last."""
NO_CODE = {"returns", "decorator_list", "annotation"}


class Change(NamedTuple):
    """A replacement for a part of the code."""

    kind: str
    node: ast.AST
    holder: ast.AST
    field: str
    instead: Any
    """The new value of the field of the holder."""
    likeness: float = 0.0


class Known(NamedTuple):
    """The names that may be used in a definition."""

    values: set[str]
    constants: set[str]
    attributes: dict[str, set[str]]
    """By the code of what has them."""


def mended(place: ast.AST, module: ast.Module, is_right: Callable[[], bool]) -> str:
    """Find the part of a definition that, when changed, makes everything right; or return "".

    ``is_right`` tells whether all answers are right with the changed definition.
    """
    end = time.monotonic() + SECONDS
    changes = _changes(place, _known(place, module))
    for change in sorted(changes, key=lambda c: (KINDS.index(c.kind), -c.likeness)):
        before = getattr(change.holder, change.field)
        setattr(change.holder, change.field, change.instead)
        ast.fix_missing_locations(place)
        found = is_right()
        setattr(change.holder, change.field, before)
        if found:
            code = ast.unparse(change.node).partition("\n")[0]
            line, what = getattr(change.node, "lineno", 0), said(change.kind)
            return said("line {line}, `{code}`: {what}", line=line, code=code, what=what)
        if time.monotonic() > end:
            break
    return ""


def _known(place: ast.AST, module: ast.Module) -> Known:
    names = [part for part in ast.walk(place) if isinstance(part, ast.Name)]
    values = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    values |= {part.arg for part in ast.walk(place) if isinstance(part, ast.arg)}
    constants, attributes = set[str](), dict[str, set[str]]()
    for part in ast.walk(module):
        if isinstance(part, ast.Name) and part.id.isupper():
            constants.add(part.id)
        if isinstance(part, ast.Attribute) and getattr(part.value, "id", "") in values:
            attributes.setdefault(ast.unparse(part.value), set()).add(part.attr)
    return Known(values, constants, attributes)


def _changes(place: ast.AST, known: Known) -> Iterator[Change]:
    """Iterate over every change of one part: of expressions, and of statements."""
    for holder in ast.walk(place):
        for field, value in ast.iter_fields(holder):
            if field in NO_CODE:
                continue
            several = isinstance(value, list)
            for i, node in enumerate(value if several else [value]):
                for kind, other in _instead(node, known):
                    likeness = SequenceMatcher(None, ast.unparse(node), ast.unparse(other)).ratio()
                    instead = _replaced(value, i, other) if several else other
                    yield Change(kind, node, holder, field, instead, likeness)
                if isinstance(node, ast.stmt) and several and i:
                    both = [*value[: i - 1], node, value[i - 1], *value[i + 1 :]]
                    yield Change(ORDER, node, holder, field, both)


def _replaced(values: list[Any], i: int, *instead: Any) -> list[Any]:
    return [*values[:i], *instead, *values[i + 1 :]]


def _with(node: Any, **changes: Any) -> Any:
    """Copy a node with other parts."""
    return type(node)(**{field: getattr(node, field) for field in node._fields} | changes)


def _instead(node: Any, known: Known) -> Iterator[tuple[str, ast.AST]]:
    """Iterate over the replacements of a part."""
    values = [ast.Name(name, READ) for name in sorted(known.values | known.constants)]
    match node:
        case ast.Compare(ops=[_]):
            for kind in COMPARISONS:
                yield OPERATOR, _with(node, ops=[kind()])
        case ast.BinOp(left=left, right=right):
            yield from ((OPERATOR, _with(node, op=operation())) for operation in OPERATIONS)
            yield from ((MORE, left), (MORE, right), (ORDER, _with(node, left=right, right=left)))
        case ast.BoolOp(values=parts):
            yield from ((MORE, part) for part in parts)
        case ast.UnaryOp(operand=operand):
            yield OPPOSITE, operand
        case ast.Constant(value=bool(value)):
            yield OPPOSITE, ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            for number in (value + 1, value - 1, 0, -value, 2 * value, value / 2, 10 * value, 0.5):
                yield NUMBER, ast.Constant(number)
            yield from ((NAME, value) for value in values)
        case ast.Name(id=name, ctx=ast.Load()):
            for alike in (known.values, known.constants):
                others = alike - {name} if name in alike else ()
                yield from ((NAME, ast.Name(other, READ)) for other in others)
            yield from ((LESS, ast.Subscript(node, part, READ)) for part in (*values, *PARTS))
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()):
            others = {
                other for group in ALIKE if name in (names := group.split()) for other in names
            }
            others |= known.attributes.get(getattr(value, "id", ""), set())
            yield from ((NAME, _with(node, attr=other)) for other in others - {name})
        case ast.Call(func=function, args=arguments, keywords=keywords):
            if isinstance(function, ast.Attribute):
                yield MORE, function.value
            yield from ((MORE, argument) for argument in arguments)
            for i in range(len(arguments)):
                yield MORE, _with(node, args=_replaced(arguments, i))
            for i in range(len(keywords)):
                yield MORE, _with(node, keywords=_replaced(keywords, i))
            yield from ((ORDER, _with(node, args=other)) for other in _reordered(arguments))
            yield from ((LESS, _with(node, args=[*arguments, value])) for value in values)
        case ast.Subscript(value=value, ctx=ast.Load()):
            yield MORE, value
        case ast.IfExp(body=body, orelse=otherwise):
            yield from ((MORE, body), (MORE, otherwise))
            yield OPPOSITE, _with(node, body=otherwise, orelse=body)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            yield from ((ORDER, _with(node, elts=other)) for other in _reordered(parts))
            for i in range(len(parts)):
                yield MORE, _with(node, elts=_replaced(parts, i))
            for value in values:
                yield LESS, _with(node, elts=[value, *parts])
                yield LESS, _with(node, elts=[*parts, value])
        case ast.If(test=test):
            yield OPPOSITE, _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.AugAssign():
            yield from ((OPERATOR, _with(node, op=operation())) for operation in OPERATIONS)
        case ast.Assign() | ast.Expr():
            yield LINE, ast.Pass()
    if isinstance(node, ast.BinOp | ast.Name):
        yield from ((LESS, ast.BinOp(node, sign(), ast.Constant(1))) for sign in (ast.Add, ast.Sub))
    if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Compare | ast.Subscript):
        yield from ((SIGN, ast.UnaryOp(sign(), node)) for sign in (ast.USub, ast.Invert, ast.Not))
        for name in ("tanh", "sigmoid", "relu"):
            function = ast.Attribute(ast.Name("torch", READ), name, READ)
            yield LESS, ast.Call(function, [node], [])
    if isinstance(node, ast.Call | ast.Subscript):
        yield from ((NAME, value) for value in values)


def _reordered(parts: list[Any]) -> Iterator[list[Any]]:
    """Iterate over the orders in which two parts are swapped."""
    for i in range(len(parts)):
        for j in range(i):
            other = [*parts]
            other[i], other[j] = parts[j], parts[i]
            yield other

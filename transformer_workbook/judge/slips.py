"""Slips: small changes of a correct answer's source that no table needs to list."""

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from transformer_workbook.judge.catalogue import Mistake, names_around, run, source_of
from transformer_workbook.judge.comparing import LONG
from transformer_workbook.judge.sentences import said

OTHERS: dict[Any, Any] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    "sin": "cos",
    "cos": "sin",
    "tril": "triu",
    "triu": "tril",
    "sum": "mean",
    "mean": "sum",
    "all": "any",
}
"""What is easily taken for what."""


def slips_in(reference: Callable[..., Any]) -> Iterator[Mistake]:
    """Make every slip in the source of a reference, unless a loop of it might then not end."""
    tree = ast.parse(source_of(reference))
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.While) for node in nodes):
        return
    names = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {text for text in map(ast.unparse, nodes) if re.fullmatch(r"self\.\w+", text)}
    above = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    around = names_around(reference)
    for parent, holder, place in [found for node in nodes for found in _expressions(node)]:
        right, shown = holder[place], parent
        while isinstance(shown, ast.Attribute):  # a method without its call says little
            shown = above[shown]
        for slip in _slips(right, sorted(names)):
            holder[place] = slip
            step = ast.unparse(shown if isinstance(shown, ast.expr) else slip)
            says = said("this comes out if one step is `{step}`.", step=step)
            with suppress(SyntaxError):  # `*blocks` alone
                if len(step) <= LONG:
                    yield Mistake(says, run(ast.unparse(tree), says, around, reference.__name__))
        holder[place] = right


def _expressions(node: ast.AST) -> Iterator[tuple[ast.AST, Any, Any]]:
    """Iterate over the expressions right below a node: it, what holds them, and where."""
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.expr) and field not in ("annotation", "returns"):
            yield node, vars(node), field
        if isinstance(value, list):
            yield from ((node, value, i) for i, x in enumerate(value) if isinstance(x, ast.expr))


def _slips(node: Any, names: list[str]) -> Iterator[ast.expr]:
    """Iterate over what may stand for an expression by a slip."""
    match node:
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()) if (
            own := ast.unparse(node)
        ) in names:
            others = (other for other in names if ("." in other) == ("." in own) and other != own)
            yield from map(ast.Name, others)
            yield from (ast.Attribute(node, "mT"), ast.UnaryOp(ast.Invert(), node))
        case ast.Constant(int(number)) if not isinstance(number, bool):
            yield from (ast.Constant(number + 1), ast.Constant(number - 1))
        case ast.UnaryOp(_, operand) | ast.Attribute(operand, "mT"):
            yield operand
        case ast.BinOp(left, sign, right):
            yield from (left, right)
            if other := OTHERS.get(type(sign)):
                yield ast.BinOp(left, other(), right)
        case ast.Compare(left, [sign], right) if other := OTHERS.get(type(sign)):
            yield ast.Compare(left, [other()], right)
        case ast.Call(ast.Attribute(receiver, name), arguments, keywords):
            of_module = isinstance(receiver, ast.Name) and receiver.id not in names
            yield from arguments[:1] if of_module else [receiver]
            if other := OTHERS.get(name):
                yield ast.Call(ast.Attribute(receiver, other), arguments, keywords)

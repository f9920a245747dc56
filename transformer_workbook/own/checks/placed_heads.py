"""Checks of attention with an overridden method: positions and outputs of heads."""

import math
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.own.checks.attention import CAUSAL, X
from transformer_workbook.own.checks.check import Check, filled, linear
from transformer_workbook.own.checks.heads import KEYS, Y, of_torch
from transformer_workbook.own.checks.soft_lookup import weights_by_hand

QUERIES_AT, KEYS_AT = torch.tensor([[5, 6, 7], [2, 3, 9]]), torch.tensor([[3, 4, 5, 6]])
FIRST = torch.tensor([[0, 1, 2, 3]])


def at(heads: Tensor, positions: Tensor) -> Tensor:
    """Encode positions in heads: the later, the larger."""
    return heads * (1 + positions[:, None, :, None] / 10)


def placing(attention: Any) -> Any:
    """Make a class of attention that encodes positions in queries and keys."""

    class Placing(attention):  # type: ignore[misc]
        def with_positions(self, heads: Tensor, positions: Tensor) -> Tensor:
            return at(heads, positions)

    return Placing


@torch.no_grad()
def _placed(m: Any) -> Tensor:
    layer = filled(placing(m.MultiHeadAttention)(8, 4))
    return layer.attend(Y, layer.project(X, X, KEYS_AT), KEYS, QUERIES_AT)


@torch.no_grad()
def _placed_at_once(m: Any) -> Tensor:
    return filled(placing(m.MultiHeadAttention)(8, 4))(Y, X, X, KEYS)


@torch.no_grad()
def _placed_in_parts(m: Any) -> Tensor:
    """Extend by new positions; the last one comes after a gap."""
    layer = filled(placing(m.MultiHeadAttention)(8, 4))
    past, found = layer.empty(2), []
    for start, end in ((0, 3), (3, 4)):
        new, to = X[:, start:end], KEYS_AT[:, start:end]
        one, past = layer.extend(new, past, CAUSAL[:, None, start:end, :end], to)
        found.append(one)
    return torch.cat(found, dim=1)


def _placed_by_hand(x: Tensor, queries_at: Tensor, keys_at: Tensor, mask: Tensor) -> Tensor:
    split = [linear(n, x, 8) for n, x in (("query", x), ("key", X), ("value", X))]
    query, key, value = (torch.stack(x.chunk(4, dim=-1), dim=1) for x in split)
    scores = at(query, queries_at) @ at(key, keys_at).mT / math.sqrt(2)
    return linear("output", torch.cat((weights_by_hand(scores, mask) @ value).unbind(1), -1), 8)


@torch.no_grad()
def _turned(m: Any) -> Tensor:
    class Turned(m.MultiHeadAttention):  # type: ignore[misc]
        def attend(self, *given: Any, **named: Any) -> Any:
            return -super().attend(*given, **named)

    return filled(Turned(8, 4))(Y, X, X, KEYS)


@torch.no_grad()
def _looked_up(m: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the outputs of the submodule ``attention``."""
    layer, shapes = filled(m.MultiHeadAttention(8, 4)), []
    layer.attention.register_forward_hook(lambda _, given, heads: shapes.append(tuple(heads.shape)))
    layer(Y, X, X, KEYS)
    return shapes


PLACED = (
    Check(
        "MultiHeadAttention",
        "MultiHeadAttention(8, 4) whose with_positions enlarges later heads: keys at 3 to 6, "
        "queries at other positions in each sentence",
        _placed,
        lambda: _placed_by_hand(Y, QUERIES_AT, KEYS_AT, KEYS),
    ),
    Check(
        "MultiHeadAttention",
        "the same without positions: they are 0, 1, …",
        _placed_at_once,
        lambda: _placed_by_hand(Y, FIRST[:, :3], FIRST, KEYS),
    ),
    Check(
        "MultiHeadAttention.extend",
        "the same in parts of 3 and 1 position, which stand at 3 to 6",
        _placed_in_parts,
        lambda: _placed_by_hand(X, KEYS_AT, KEYS_AT, CAUSAL[:, None]),
    ),
    Check(
        "MultiHeadAttention",
        "what forward gives where a class derived from it turns the sign of what attend gives",
        _turned,
        lambda: -of_torch()(Y, X, X, key_padding_mask=~KEYS[:, 0, 0])[0].detach(),
    ),
    Check(
        "MultiHeadAttention",
        "the shapes of what its part attention gives, (batch, heads, query, d_v): pictures ask it",
        _looked_up,
        lambda: [(2, 4, 3, 2)],
    ),
)

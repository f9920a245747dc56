"""Checks of attention of which a part is changed, or asked: where heads stand, what they attend."""

import math
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.devices import CPU
from transformer_workbook.own.checks.attention import X
from transformer_workbook.own.checks.check import Check, filled, linear
from transformer_workbook.own.checks.heads import KEYS, Y, of_torch
from transformer_workbook.own.checks.soft_lookup import weights_by_hand


def at(heads: Tensor, start: int) -> Tensor:
    """Heads that are told their positions: the later, the larger."""
    return heads * (1 + torch.arange(start, start + heads.size(2), device=CPU)[:, None] / 10)


def placing(attention: Any) -> Any:
    """A class of attention whose queries and keys are told their positions."""

    class Placing(attention):  # type: ignore[misc]
        def place(self, heads: Tensor, start: int) -> Tensor:
            return at(heads, start)

    return Placing


@torch.no_grad()
def _placed(m: Any) -> Tensor:
    layer = filled(placing(m.MultiHeadAttention)(8, 4))
    return layer(Y, mask=KEYS, seen=layer.project(X, X, 3), start=5)


@torch.no_grad()
def _placed_at_once(m: Any) -> Tensor:
    return filled(placing(m.MultiHeadAttention)(8, 4))(Y, X, X, KEYS, start=5)


def _placed_by_hand(keys_from: int) -> Tensor:
    split = [linear(n, x, 8) for n, x in (("query", Y), ("key", X), ("value", X))]
    query, key, value = (torch.stack(x.chunk(4, dim=-1), dim=1) for x in split)
    scores = at(query, 5) @ at(key, keys_from).mT / math.sqrt(2)
    return linear("output", torch.cat((weights_by_hand(scores, KEYS) @ value).unbind(1), -1), 8)


@torch.no_grad()
def _turned(m: Any) -> Tensor:
    class Turned(m.MultiHeadAttention):  # type: ignore[misc]
        def attend(self, *given: Any, **named: Any) -> Any:
            return -super().attend(*given, **named)

    return filled(Turned(8, 4))(Y, X, X, KEYS)


@torch.no_grad()
def _looked_up(m: Any) -> list[tuple[int, ...]]:
    """The shapes of what the part ``attention`` has given."""
    layer, shapes = filled(m.MultiHeadAttention(8, 4)), []
    layer.attention.register_forward_hook(lambda _, given, heads: shapes.append(tuple(heads.shape)))
    layer(Y, X, X, KEYS)
    return shapes


PLACED = (
    Check(
        "MultiHeadAttention",
        "a MultiHeadAttention(8, 4) whose place enlarges later heads; keys from 3, queries from 5",
        _placed,
        lambda: _placed_by_hand(3),
    ),
    Check(
        "MultiHeadAttention",
        "the same, of keys that are given as they are: from 0, queries from 5",
        _placed_at_once,
        lambda: _placed_by_hand(0),
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

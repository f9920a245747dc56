"""Checks of attention whose heads are told where their queries and keys stand."""

import math
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.devices import CPU
from annotated_transformer.own.checks.attention import X
from annotated_transformer.own.checks.check import Check, filled, linear
from annotated_transformer.own.checks.heads import KEYS, Y
from annotated_transformer.own.checks.soft_lookup import weights_by_hand


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
)

"""Checks of scaled attention."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.own.checks.check import Check, drawn, filled, gradient, linear, parts
from transformer_workbook.own.checks.soft_lookup import (
    EVERY,
    MASK,
    MEMORY,
    QUERY,
    VALUE,
    weights_by_hand,
)

SCALED = QUERY @ MEMORY.mT / math.sqrt(5)
X = drawn("x", 2, 4, 8)
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()[None]


def _self_attention_by_hand() -> Tensor:
    query, key, value = (
        linear(n, X, d, bias=False) for n, d in (("query", 3), ("key", 3), ("value", 5))
    )
    return weights_by_hand(query @ key.mT / math.sqrt(3), CAUSAL) @ value


def _self_attention_of_torch(x: Tensor) -> Tensor:
    query, key, value = (
        linear(n, x, d, bias=False) for n, d in (("query", 3), ("key", 3), ("value", 5))
    )
    return F.scaled_dot_product_attention(query, key, value, attn_mask=CAUSAL)


CHECKS = (
    Check(
        "ScaledDotProductAttention",
        "the scores of queries (2, 3, 5) and keys (2, 4, 5)",
        lambda m: m.ScaledDotProductAttention().scores(QUERY, MEMORY),
        lambda: SCALED,
    ),
    Check(
        "ScaledDotProductAttention",
        "the scores of queries (1, 2, 3, 5) and keys (1, 2, 4, 5) of two heads",
        lambda m: m.ScaledDotProductAttention().scores(QUERY[None], MEMORY[None]),
        lambda: SCALED[None],
    ),
    Check(
        "ScaledDotProductAttention",
        "the weights of queries (2, 3, 5) and keys (2, 4, 5), with a mask",
        lambda m: m.ScaledDotProductAttention().weights(QUERY, MEMORY, MASK),
        lambda: weights_by_hand(SCALED, MASK),
    ),
    Check(
        "ScaledDotProductAttention",
        "what queries (2, 3, 5) gather from values (2, 4, 6) without a mask",
        lambda m: m.ScaledDotProductAttention()(QUERY, MEMORY, VALUE),
        lambda: weights_by_hand(SCALED, EVERY) @ VALUE,
    ),
    Check(
        "ScaledDotProductAttention",
        "what queries (2, 3, 5) gather from values (2, 4, 6) with a mask",
        lambda m: m.ScaledDotProductAttention()(QUERY, MEMORY, VALUE, MASK),
        lambda: weights_by_hand(SCALED, MASK) @ VALUE,
    ),
    Check(
        "SelfAttention",
        "the names and shapes of the weights of SelfAttention(8, 3, 5)",
        lambda m: parts(m.SelfAttention(8, 3, 5)),
        lambda: {"key.weight": (3, 8), "query.weight": (3, 8), "value.weight": (5, 8)},
    ),
    Check(
        "SelfAttention",
        "SelfAttention(8, 3, 5) of (2, 4, 8) with a causal mask, compared with a loop",
        lambda m: filled(m.SelfAttention(8, 3, 5))(X, CAUSAL).detach(),
        _self_attention_by_hand,
    ),
    Check(
        "SelfAttention",
        "the gradient of SelfAttention(8, 3, 5) by its sentence, compared with torch.nn",
        lambda m: gradient(lambda x: filled(m.SelfAttention(8, 3, 5))(x, CAUSAL), X),
        lambda: gradient(_self_attention_of_torch, X),
    ),
)

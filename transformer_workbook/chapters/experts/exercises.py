import math

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.judge import derivation, exercise, normal, number


@exercise([(normal(4, 3, seed=0), 2), (normal(3, 5, seed=1).float(), 3), (normal(2, 6, seed=2), 4)])
def top_k_gate(logits: Float[Tensor, "token expert"], k: int) -> Float[Tensor, "token expert"]:
    """Weigh the k experts of each token with the largest logits; the weight of all others is 0."""
    values, chosen = logits.topk(k)
    weights = values.softmax(dim=-1)
    return torch.zeros_like(logits).scatter(-1, chosen, weights)


@exercise(
    [
        (normal(4, 3, seed=0).softmax(-1), normal(3, seed=20) / 2, 2),
        (normal(3, 5, seed=1).float().softmax(-1), normal(5, seed=21).float() / 2, 3),
        (normal(2, 6, seed=2).softmax(-1), normal(6, seed=22) / 2, 2),
    ]
)
def biased_gate(
    p: Float[Tensor, "token expert"], bias: Float[Tensor, " expert"], k: int
) -> Float[Tensor, "token expert"]:
    """Choose k experts of each token with the help of a bias, which is no part of the weights."""
    chosen = (p + bias).topk(k).indices
    weights = p.gather(-1, chosen)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, chosen, weights)


@derivation([(64, 256, 8, 2, 100, 1.25), (32, 48, 16, 4, 50, 1.0), (10, 30, 5, 1, 22, 1.5)])
def costs_of_experts(
    d_model: int, d_ff: int, experts: int, k: int, tokens: int, capacity: float
) -> tuple[int, ...]:
    """What a layer of experts stores, what a token uses of it, and what finds no room."""
    network = 2 * d_model * d_ff
    router = d_model * experts
    total = experts * network + router
    active = k * network + router
    room = math.ceil(capacity * k * tokens / experts)
    dropped = k * (tokens - room)
    return total, active, room, dropped


@number(within=0.04)
def dropped_at_random() -> int:
    """With 64 tokens and 8 experts, what per cent of random choices exceed a capacity of 1?"""
    return 13  # of 64 throws of a die with 8 faces, the excess over 8, on average

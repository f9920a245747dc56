import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.judge import derivation, exercise, normal, number


@exercise(
    [
        (normal(4, 3, seed=0), 2),
        (normal(3, 5, seed=1).float(), 3),
        (normal(6, 4, seed=2), 1),
        (3 * normal(5, 6, seed=3), 4),
    ],
    whole=True,
    gap=True,
)
def top_k_gate(
    logits: Float[Tensor, "token expert"], k: int
) -> tuple[Float[Tensor, "token expert"], Float[Tensor, "token k"], Int[Tensor, "token k"]]:
    """Choose k experts for each token; their weights sum to 1, but for k = 1 they stay p."""
    p = logits.softmax(dim=-1)
    weights, chosen = p.topk(k)
    if k > 1:
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return p, weights, chosen


@exercise(
    [
        (
            normal(6, 4, seed=4).softmax(-1),
            torch.tensor([[0, 2], [1, 3], [1, 0], [3, 1], [1, 2], [0, 1]]),
        ),
        (normal(3, 5, seed=5).float().softmax(-1), torch.tensor([[0, 2], [2, 1], [0, 1]])),
        (normal(4, 3, seed=6).softmax(-1), torch.tensor([[2, 1], [2, 0], [2, 1], [1, 2]])),
    ],
    whole=True,
    gap=True,
)
def load_balancing_loss(
    p: Float[Tensor, "token expert"], chosen: Int[Tensor, "token k"]
) -> Float[Tensor, ""]:
    """Write E times the sum over all experts of share times mean probability."""
    number = p.size(1)
    counts = chosen.flatten().bincount(minlength=number)
    shares = counts / chosen.numel()
    return number * (shares * p.mean(dim=0)).sum()


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


@exercise(
    [
        (torch.tensor([0, 1, 0, 0, 1, 2]), 3, 2),
        (torch.tensor([2, 2, 2, 0, 2]), 4, 1),
        (torch.tensor([1, 0, 1, 0, 1]), 2, 3),
        (torch.tensor([3, 3, 1, 3, 3, 1, 3]), 4, 3),
    ],
    whole=True,
)
def finds_room(chosen: Int[Tensor, " token"], experts: int, room: int) -> Bool[Tensor, " token"]:
    """Say which tokens find room, if each expert takes the first tokens that choose it."""
    sent = F.one_hot(chosen, experts)
    place = (sent.cumsum(dim=0) * sent).sum(dim=-1)
    return place <= room

"""Exercises of the chapter "Without the table: attention in a state of fixed size"."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge import derivation, exercise, number


def halves(tops: Tensor, d_v: int, seed: int) -> tuple[Tensor, ...]:
    """Of two halves of the keys: the maxima, the sums of the weights and of weighted values."""
    case = []
    for i, top in enumerate(tops):
        total, output = normal(len(top), seed=seed + i).exp(), normal(len(top), d_v, seed=seed + i)
        case += [top.clone(), total.to(top), output.to(top)]
    return tuple(case)


@exercise(
    [
        halves(normal(2, 2, seed=0), 3, seed=1),
        halves(normal(2, 4, seed=3).float(), 2, seed=4),
        halves(torch.tensor([[0, 900, 500], [900, 0, 501]]).double(), 2, seed=6),
    ]
)
def merged(
    top_1: Float[Tensor, " query"],
    total_1: Float[Tensor, " query"],
    sum_1: Float[Tensor, "query d_v"],
    top_2: Float[Tensor, " query"],
    total_2: Float[Tensor, " query"],
    sum_2: Float[Tensor, "query d_v"],
) -> Float[Tensor, "query d_v"]:
    """Compute the output of all keys from what two machines have computed, each of its half."""
    top = torch.maximum(top_1, top_2)
    scale_1 = (top_1 - top).exp()
    scale_2 = (top_2 - top).exp()
    total = scale_1 * total_1 + scale_2 * total_2
    numerator = scale_1[:, None] * sum_1 + scale_2[:, None] * sum_2
    return numerator / total[:, None]


def seen(queries: int, keys: int) -> Bool[Tensor, "query key"]:
    """A mask whose first query sees the last key alone, and the next ones every other key."""
    at = torch.arange(keys)
    mask = (at + torch.arange(queries)[:, None]) % 2 == 0
    mask[0] = at == keys - 1
    return mask


@exercise(
    [
        (normal(4, 3, seed=0), normal(5, 3, seed=1), normal(5, 6, seed=2), seen(4, 5), 2),
        (normal(3, 2, seed=3).float(), normal(4, 2, seed=4).float(), normal(4, 5, seed=5).float(),
         seen(3, 4), 3),
        (400 * normal(2, 4, seed=6), normal(6, 4, seed=7), normal(6, 3, seed=8), seen(2, 6), 5),
    ]
)  # fmt: skip
def masked_blocks(
    q: Float[Tensor, "query d_k"],
    k: Float[Tensor, "key d_k"],
    v: Float[Tensor, "key d_v"],
    mask: Bool[Tensor, "query key"],
    size: int,
) -> Float[Tensor, "query d_v"]:
    """Attend block by block with a mask; of its first block a query may see nothing."""
    top = q.new_full((len(q), 1), torch.finfo(q.dtype).min)
    total, output = q.new_zeros(len(q), 1), q.new_zeros(len(q), v.size(1))
    for start in range(0, len(k), size):
        block = slice(start, start + size)
        scores = q @ k[block].T / math.sqrt(q.size(1))
        scores = scores.masked_fill(~mask[:, block], -torch.inf)
        new = torch.maximum(top, scores.amax(dim=1, keepdim=True))
        weights, scale = (scores - new).exp(), (top - new).exp()
        total = scale * total + weights.sum(dim=1, keepdim=True)
        output = scale * output + weights @ v[block]
        top = new
    return output / total


@derivation([(1000, 16, 12, 8), (300, 8, 10, 5), (5000, 64, 24, 33)])
def costs_of_a_state(n: int, d_k: int, d_v: int, pairs: int) -> tuple[float | int, ...]:
    """What one head keeps after n tokens, from where on a state is smaller, and what it blurs."""
    cache = n * (d_k + d_v)
    state = d_k * d_v
    equal = state / (d_k + d_v)
    noise = (pairs - 1) / d_k
    return cache, state, equal, noise


@exercise(
    [
        (normal(3, 2, seed=0), F.normalize(normal(3, seed=1), dim=0), normal(2, seed=2),
         normal(3, seed=3), 0.5, 0.8),
        (normal(2, 4, seed=4).float(), normal(2, seed=5).float(), normal(4, seed=6).float(),
         normal(2, seed=7).float(), 0.9, 0.6),
        (normal(4, 3, seed=8), normal(4, seed=9), normal(3, seed=10), normal(4, seed=11), 0.3, 0.7),
    ]
)  # fmt: skip
def gated_delta_step(
    S: Float[Tensor, "d_k d_v"],
    k: Float[Tensor, " d_k"],
    v: Float[Tensor, " d_v"],
    q: Float[Tensor, " d_k"],
    strength: float,
    decay: float,
) -> tuple[Float[Tensor, "d_k d_v"], Float[Tensor, " d_v"]]:
    """Let the state fade, write what is new, then read: one step of the gated delta rule."""
    faded = decay * S
    known = k @ faded
    new = faded + torch.outer(k, strength * (v - known))
    return new, q @ new


@number()
def read_back_exactly() -> int:
    """Of 32 random pairs that the delta rule wrote once each, how many are read back exactly?"""
    keys, values = F.normalize(normal(32, 16, seed=0), dim=-1), normal(32, 4, seed=1)
    S = torch.zeros(16, 4, dtype=torch.float64)
    for k, v in zip(keys, values, strict=True):
        S = S + torch.outer(k, v - k @ S)
    return int(((keys @ S - values).abs().amax(dim=-1) < 1e-9).sum())

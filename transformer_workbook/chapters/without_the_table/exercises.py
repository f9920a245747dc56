import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.judge import derivation, exercise, normal, number


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


@derivation([(1000, 16, 12, 8), (300, 8, 10, 5), (5000, 64, 24, 33)])
def costs_of_a_state(n: int, d_k: int, d_v: int, pairs: int) -> tuple[float | int, ...]:
    """What one head keeps after n tokens, from where on a state is smaller, and what it blurs."""
    cache = n * (d_k + d_v)
    state = d_k * d_v
    equal = state / (d_k + d_v)
    noise = (pairs - 1) / d_k
    return cache, state, equal, noise


@number()
def read_back_exactly() -> int:
    """Of 32 random pairs that the delta rule wrote once each, how many are read back exactly?"""
    return 1  # the last: whatever was written before it has been moved


@exercise(
    [
        (normal(4, 3, seed=0), normal(5, 3, seed=1), normal(5, 6, seed=2),
         normal(4, 5, seed=20) > 0, 2),
        (normal(3, 2, seed=3).float(), normal(4, 2, seed=4).float(), normal(4, 5, seed=5).float(),
         normal(3, 4, seed=23) > 0, 3),
        (400 * normal(2, 4, seed=6), normal(6, 4, seed=7), normal(6, 3, seed=8),
         normal(2, 6, seed=24) > 0, 5),
    ]
)  # fmt: skip
def masked_blocks(
    q: Float[Tensor, "query d_k"],
    k: Float[Tensor, "key d_k"],
    v: Float[Tensor, "key d_v"],
    mask: Bool[Tensor, "query key"],
    size: int,
) -> Float[Tensor, "query d_v"]:
    """Attend block by block with a mask; some queries see no key of the first block."""
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


@exercise(
    [
        (normal(4, 2, seed=0), normal(4, 2, seed=1), normal(4, 3, seed=2), normal(2, 3, seed=3)),
        (normal(3, 5, seed=4).float(), normal(3, 5, seed=5).float(),
         normal(3, 2, seed=6).float(), normal(5, 2, seed=7).float()),
        (normal(5, 3, seed=8), normal(5, 3, seed=9), normal(5, 4, seed=10), normal(3, 4, seed=11)),
    ],
    gap=True,
)  # fmt: skip
def state_of_fixed_size(
    q: Float[Tensor, "time d_k"],
    k: Float[Tensor, "time d_k"],
    v: Float[Tensor, "time d_v"],
    S: Float[Tensor, "d_k d_v"],
) -> tuple[Float[Tensor, "time d_v"], Float[Tensor, "d_k d_v"]]:
    """Write each key and value into the state, then read it with the query; return both."""
    outputs = []
    for query, key, value in zip(q, k, v, strict=True):
        S = S + torch.outer(key, value)
        outputs.append(query @ S)
    return torch.stack(outputs), S


@exercise(
    [
        (normal(3, 2, seed=0), F.normalize(normal(3, seed=1), dim=0), normal(2, seed=2), 1.0),
        (normal(2, 4, seed=4).float(), normal(2, seed=5).float(), normal(4, seed=6).float(), 0.6),
        (normal(4, 3, seed=8), normal(4, seed=9), normal(3, seed=10), 0.3),
    ],
    gap=True,
)
def delta_write(
    S: Float[Tensor, "d_k d_v"],
    key: Float[Tensor, " d_k"],
    value: Float[Tensor, " d_v"],
    strength: float,
) -> Float[Tensor, "d_k d_v"]:
    """Write what is missing of the value, with a strength: the delta rule."""
    known = key @ S
    return S + strength * torch.outer(key, value - known)

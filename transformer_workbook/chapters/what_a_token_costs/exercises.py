import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.costs import cost_of_pass
from annotated_transformer.language_model import LanguageModelConfig
from transformer_workbook.judge import derivation, exercise, normal, number


@exercise(
    [
        (1, 3000, 5e6, 2e5, 4),
        (50, 700, 5e6, 2e5, 4),
        (7, 1200, 90e3, 30e3, 2),
        (3, 500, 8e4, 7e5, 1),
    ],
    gap=True,
)
def roofline_bound(
    tokens: int, weights: int, peak: float, bandwidth: float, itemsize: int
) -> tuple[float, float]:
    """Write the arithmetic intensity of a pass and the least seconds that it takes."""
    flops = 2 * tokens * weights
    moved = itemsize * weights
    seconds = max(flops / peak, moved / bandwidth)
    return flops / moved, seconds


@exercise(
    [
        tuple(normal(6, 3, n, 4, seed=i) for i, n in enumerate((2, 2, 2, 5, 5))),
        tuple(normal(5, 2, n, 3, seed=10 + i) for i, n in enumerate((4, 4, 4, 0, 0))),
        tuple(normal(4, 5, n, 2, seed=20 + i).float() for i, n in enumerate((3, 3, 3, 6, 6))),
    ],
    gap=True,
)
def cache_step(
    q: Float[Tensor, "batch heads new head_dim"],
    k: Float[Tensor, "batch heads new head_dim"],
    v: Float[Tensor, "batch heads new head_dim"],
    keys: Float[Tensor, "batch heads past head_dim"],
    values: Float[Tensor, "batch heads past head_dim"],
) -> tuple[
    Float[Tensor, "batch heads new head_dim"],
    Float[Tensor, "batch heads seen head_dim"],
    Float[Tensor, "batch heads seen head_dim"],
]:
    """Append new keys and values to the cache, and attend to all that a token may see."""
    new, past = q.size(-2), keys.size(-2)
    keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
    mask = torch.ones(new, past + new, dtype=torch.bool).tril(past)
    heads = F.scaled_dot_product_attention(q, keys, values, mask)
    return heads, keys, values


@exercise([(1000, 8, 3, 20, 2), (700, 6, 4, 5, 4), (2400, 12, 7, 31, 1)])
def bytes_of_a_step(weights: int, cached: int, batch: int, past: int, itemsize: int) -> int:
    """How many bytes a decode step moves."""
    caches = batch * (past + 1) * cached
    return itemsize * (weights + caches)


H100 = 989e12, 3.35e12
"""The FLOPs and bytes a second of the lesson's card."""


def milliseconds(batch: int, kv_heads: int = 8, past: int = 8000, peaks: int = 2) -> float:
    """Compute the least time of a decode step of the lesson's model, by both limits or memory's."""
    llama = LanguageModelConfig(
        128_256, 128_256, 4096, 32, 32, 14336, gated=True, d_k=128, num_kv_heads=kv_heads
    )
    step = cost_of_pass(llama, 1, past, batch, itemsize=2)
    return 1000 * (step.seconds(*H100) if peaks == 2 else step.flops / H100[0])


def largest_batch(limit: float = 20.0, **of_step: int) -> int:
    """Return the largest batch whose decode step can take at most so many milliseconds."""
    batch = 0
    while milliseconds(batch + 1, **of_step) <= limit:
        batch += 1
    return batch


@number()
def texts_at_once() -> int:
    """How many texts of 8,000 tokens can be continued with 50 tokens a second each?"""
    return largest_batch()


@derivation([(3, 20, 8, 2, 16, 2, 300), (5, 7, 6, 3, 10, 4, 25), (2, 30, 12, 4, 8, 1, 90)])
def intensities(
    n: int, t: int, h: int, g: int, d_k: int, itemsize: int, ridge: int
) -> tuple[float | int, ...]:
    """Which part of a decode step does a larger batch help, in five steps?"""
    flops = 4 * n * h * d_k * t
    moved = 2 * n * g * d_k * t * itemsize
    attention = flops / moved
    matrices = 2 * n / itemsize
    enough = ridge * itemsize / 2
    return flops, moved, attention, matrices, enough


@exercise([([3, 9, 5], 2, 4, 16, 2), ([7, 2], 6, 8, 64, 4), ([4, 11, 6, 8], 5, 3, 10, 1)])
def padded_cache(lengths: list[int], layers: int, kv_heads: int, d_k: int, itemsize: int) -> int:
    """How many bytes the KV cache of a padded batch has."""
    positions = len(lengths) * max(lengths)
    numbers = 2 * layers * kv_heads * d_k
    return positions * numbers * itemsize

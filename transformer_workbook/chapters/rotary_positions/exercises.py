import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.rotary import rotary_frequencies, rotate
from annotated_transformer.tokens import EOS
from transformer_workbook.judge import derivation, exercise, letters, normal

SETTINGS = 0.7 * 10.0 ** -torch.arange(4.0, dtype=torch.float64)


@exercise(
    [
        (normal(5, 6, seed=0), torch.arange(5), SETTINGS[:3]),
        (normal(2, 3, 8, seed=1).float(), torch.tensor([3, 7, 9]), SETTINGS.float()),
        (normal(2, 5, 3, 8, seed=2), torch.tensor([0, 40, 900]), SETTINGS),
    ],
    whole=True,
    gap=True,
)
def rotated_pairs(
    x: Float[Tensor, "*batch time d"],
    positions: Int[Tensor, " time"],
    frequencies: Float[Tensor, " pair"],
) -> Float[Tensor, "*batch time d"]:
    """Write the rotation of each pair of neighbouring columns."""
    angles = positions[:, None] * frequencies
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    turned = [a * cos - b * sin, a * sin + b * cos]
    return torch.stack(turned, dim=-1).flatten(-2)


@exercise(
    [
        (rotary_frequencies(64), 8.0, 16, 1.0, 2.0),
        (rotary_frequencies(32).float(), 8.0, 16, 0.5, 1.0),
        (rotary_frequencies(128, 500_000.0), 8.0, 8192, 1.0, 4.0),
        (rotary_frequencies(16), 4.0, 40, 1.0, 3.0),
    ],
    whole=True,
    gap=True,
)
def frequency_bands(
    frequencies: Float[Tensor, " pair"], factor: float, length: int, low: float, high: float
) -> Float[Tensor, " pair"]:
    """Write the frequencies of Llama 3.1: kept, divided, and in between something of both."""
    turns = length * frequencies / (2 * math.pi)
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return frequencies * (keep + (1 - keep) / factor)


@exercise(
    [
        (normal(2, 4, seed=0), normal(2, 4, seed=1), normal(3, 4, seed=2)),
        (normal(3, 6, seed=3).float(), normal(3, 6, seed=4).float(), normal(4, 6, seed=5).float()),
        (normal(5, 2, seed=6), normal(5, 2, seed=7), normal(3, 2, seed=8)),
    ]
)
def scores_with_a_cache(
    query: Float[Tensor, "new d_k"], key: Float[Tensor, "new d_k"], cached: Float[Tensor, "old d_k"]
) -> Float[Tensor, "new all"]:
    """Score new queries with the keys in the cache, which were turned, and with the new ones."""
    start, frequencies = len(cached), rotary_frequencies(query.size(-1))
    at = torch.arange(start, start + len(query))
    keys = torch.cat([cached, rotate(key, at, frequencies)])
    turned = rotate(query, at, frequencies)
    return turned @ keys.T / math.sqrt(query.size(-1))


@letters
def price_of_mending() -> str:
    """What do frequencies for long texts cost on short ones?"""
    return "A"  # the notebook's solution tries it


@derivation([(64, 10000.0, 2048, 4.0), (16, 500.0, 64, 8.0), (128, 10000.0, 4096, 2.0)])
def base_for_a_longer_text(
    d_k: int, base: float, length: int, factor: float
) -> tuple[float, float, float, float]:
    """Derive the base with which a longer text turns the slowest pair no further than before."""
    positions = 2 * math.pi * base ** ((d_k - 2) / d_k)
    turns = length / positions
    once = d_k * math.log(length / (2 * math.pi)) / (2 * math.log(base))
    raised = base * factor ** (d_k / (d_k - 2))
    return positions, turns, once, raised


@exercise(
    [
        (normal(8, 3, seed=0), 2),
        (normal(12, 5, seed=1).float(), 2),
        (normal(12, 4, seed=2), 3),
        (normal(6, 2, seed=3), 1),
    ],
    whole=True,
)
def rows_of_llama(
    weight: Float[Tensor, "heads_d_k d_model"], num_heads: int
) -> Float[Tensor, "heads_d_k d_model"]:
    """Reorder the rows of Llama's W^Q for pairs of neighbours: one head after the other."""
    heads = weight.view(num_heads, 2, -1, weight.size(-1))
    pairs = heads.transpose(1, 2)
    return pairs.flatten(0, 2)


@exercise(
    [
        (torch.tensor([5, 6, 2, 7, 2]),),
        (torch.tensor([8, 2, 9, 9, 4, 2, 5]),),
        (torch.tensor([4, 5, 6, 7]),),
        (torch.tensor([2, 2, 6, 2]),),
    ],
    whole=True,
)
def packed(ids: Int[Tensor, " time"]) -> tuple[Int[Tensor, " time"], Bool[Tensor, "time time"]]:
    """Positions and mask for texts in one row, each of which ends in EOS."""
    ended = ids == EOS
    text = ended.cumsum(dim=0) - ended.long()
    at = torch.arange(len(ids))
    mask = (text[:, None] == text) & (at[:, None] >= at)
    positions = mask.sum(dim=1) - 1
    return positions, mask

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_workbook.judge import (
    derivation,
    exercise,
    letters,
    normal,
    put_to_work,
)


@exercise(
    [
        (normal(2, 3, 4, seed=0), normal(8, 5, seed=1)),
        (normal(3, 5, 2, seed=2, dtype=torch.float32), normal(6, 4, seed=3, dtype=torch.float32)),
        (normal(4, 6, 3, seed=4), normal(12, 5, seed=5)),
    ]
)
def head_contributions(
    heads: Float[Tensor, "heads time d_v"], W_O: Float[Tensor, "width d_model"]
) -> Float[Tensor, "heads time d_model"]:
    """Find what each head adds to the output of the layer."""
    num_heads, _, d_v = heads.shape
    blocks = W_O.view(num_heads, d_v, -1)
    return heads @ blocks


def _projected(
    batch: int, time: int, keys: int, values: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of all heads."""
    return (
        normal(batch, time, keys, seed=time, dtype=dtype),
        normal(batch, time, keys, seed=time + 1, dtype=dtype),
        normal(batch, time, values, seed=time + 2, dtype=dtype),
    )


@exercise(
    [
        (*_projected(5, 3, 8, 12), 4),
        (*_projected(3, 5, 6, 8, dtype=torch.float32), 2),
        (*_projected(2, 4, 6, 9), 3),
    ]
)
def attend_in_heads(
    query: Float[Tensor, "batch time keys"],
    key: Float[Tensor, "batch time keys"],
    value: Float[Tensor, "batch time values"],
    num_heads: int,
) -> Float[Tensor, "batch time values"]:
    """Split into heads, attend in each, and merge the heads."""
    batch, time, _ = query.shape

    def split(x: Tensor) -> Tensor:
        return x.view(batch, time, num_heads, -1).transpose(1, 2)

    query, key, value = split(query), split(key), split(value)
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    heads = weights @ value
    return heads.transpose(1, 2).reshape(batch, time, -1)


CUTS: dict[str, Callable[[Tensor, int, int], Tensor]] = {
    "A": lambda x, h, d: x.reshape(len(x), h, x.size(1), d),
    "B": lambda x, h, d: x.reshape(len(x), x.size(1), h, d).transpose(1, 2),
    "C": lambda x, h, d: torch.stack(x.chunk(h, dim=-1), dim=1),
    "D": lambda x, h, d: x.transpose(1, 2).reshape(len(x), h, x.size(1), d),
    "E": lambda x, h, d: x.reshape(len(x), x.size(1), d, h).permute(0, 3, 1, 2),
    "F": lambda x, h, d: x.transpose(1, 2).reshape(len(x), h, d, x.size(1)).mT,
}
"""Six ways from (batch, time, heads * d) to (batch, heads, time, d)."""


@letters
def mixing_cuts() -> set[str]:
    """Which splits into heads mix the numbers of different words?"""
    word = torch.arange(4)[:, None]  # row t of a head is to have numbers of word t alone
    x = word.expand(2, 4, 6)
    return {letter for letter, cut in CUTS.items() if (cut(x, 2, 3) != word).any()}


@derivation([(9, 3, 1, 3), (8, 4, 2, 5), (15, 6, 3, 4)])
def head_sizes(
    d_model: int, num_heads: int, num_groups: int, d: int
) -> tuple[int, int, int, int, int]:
    """Count the parameters of a layer with groups, and what its KV cache keeps of a word."""
    queries = (d_model + 1) * num_heads * d
    keys_values = 2 * (d_model + 1) * num_groups * d
    output = (num_heads * d + 1) * d_model
    total = queries + keys_values + output
    kept = 2 * num_groups * d
    return queries, keys_values, output, total, kept


Weights = dict[str, Tensor]


def _put_to_work(
    kind: Callable[..., nn.Module],
    x: Float[Tensor, "batch time d_model"],
    num_heads: int,
    num_groups: int,
    weights: Weights,
) -> Any:
    """Build a layer, give it weights, and let two sentences pass through it."""
    return put_to_work(kind(x.size(-1), num_heads, num_groups), weights, x)


def _case(
    d_model: int, num_heads: int, num_groups: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, int, int, Weights]:
    """Two sentences of five words, and weights for a layer that reads them."""
    narrow = num_groups * (d_model // num_heads)
    widths = {"query": d_model, "key": narrow, "value": narrow, "output": d_model}
    weights = {}
    for seed, (name, width) in enumerate(widths.items()):
        weights[f"{name}.weight"] = normal(width, d_model, seed=seed, dtype=dtype)
        weights[f"{name}.bias"] = normal(width, seed=10 + seed, dtype=dtype)
    return normal(2, 5, d_model, seed=20, dtype=dtype), num_heads, num_groups, weights


@exercise(
    [_case(8, 4, 2), _case(12, 6, 3, dtype=torch.float32), _case(9, 3, 1)],
    ask=_put_to_work,
)
def grouped_attention(d_model: int, num_heads: int, num_groups: int) -> nn.Module:
    """Write self-attention whose query heads share keys and values in groups."""
    d = d_model // num_heads
    times = num_heads // num_groups  # how many query heads share a group

    def split(x: Tensor) -> Tensor:
        batch, time, _ = x.shape
        return x.view(batch, time, -1, d).transpose(1, 2)

    class GroupedAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(d_model, d_model)
            self.key = nn.Linear(d_model, num_groups * d)
            self.value = nn.Linear(d_model, num_groups * d)
            self.output = nn.Linear(d_model, d_model)

        def forward(self, x: Tensor) -> Tensor:
            q = split(self.query(x))
            k = split(self.key(x)).repeat_interleave(times, dim=1)
            v = split(self.value(x)).repeat_interleave(times, dim=1)
            scores = q @ k.mT / math.sqrt(d)
            weights = scores.softmax(dim=-1)
            heads = weights @ v
            merged = heads.transpose(1, 2).flatten(2)
            output: Tensor = self.output(merged)
            return output

    return GroupedAttention()


def _let_look(
    kind: Callable[..., nn.Module], num_heads: int, inputs: tuple[Tensor, ...], weights: Weights
) -> Any:
    """Build a layer, give it weights, and let the words of one sentence look at another."""
    return put_to_work(kind(inputs[0].size(-1), num_heads), weights, *inputs)


def _heads(
    d_model: int, num_heads: int, batch: int, *times: int, dtype: torch.dtype = torch.float64
) -> tuple[int, tuple[Tensor, ...], Weights]:
    """Words that look, words that are looked at, and weights for a layer."""
    _, _, _, weights = _case(d_model, num_heads, num_heads, dtype)
    look, found = (normal(batch, time, d_model, seed=30 + time, dtype=dtype) for time in times)
    return num_heads, (look, found, found.flip(0)), weights


@exercise(
    [
        _heads(6, 2, 3, 4, 4),
        _heads(12, 3, 2, 5, 5, dtype=torch.float32),
        _heads(8, 2, 3, 5, 7),
    ],
    ask=_let_look,
    gap=True,
)
def multi_head_layer(d_model: int, num_heads: int) -> nn.Module:
    """Write a layer that splits into heads, attends in each, and merges them."""

    class MultiHead(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(d_model, d_model)
            self.key = nn.Linear(d_model, d_model)
            self.value = nn.Linear(d_model, d_model)
            self.output = nn.Linear(d_model, d_model)

        def split(self, x: Tensor) -> Tensor:
            batch, word, _ = x.shape
            x = x.view(batch, word, num_heads, -1)
            return x.transpose(1, 2)

        def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            q = self.split(self.query(query))
            k = self.split(self.key(key))
            v = self.split(self.value(value))
            each = F.scaled_dot_product_attention(q, k, v)
            merged = each.transpose(1, 2).flatten(2)
            output: Tensor = self.output(merged)
            return output

    return MultiHead()

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.attention import SelfAttention
from annotated_transformer.tokens import PAD
from transformer_workbook.judge import (
    derivation,
    exercise,
    letters,
    loaded,
    normal,
    numbers_for,
    put_to_work,
    random_cases,
)

Shape = tuple[int, ...]


@exercise([(2, 3, 4, 10, 5), (3, 7, 5, 12, 2), (5, 2, 6, 28, 7)])
def cross_shapes(batch: int, src: int, tgt: int, d_model: int, num_heads: int) -> list[Shape]:
    """Give the shapes of the split queries, the split keys, the scores and the output."""
    d_k = d_model // num_heads
    query = (batch, num_heads, tgt, d_k)
    key = (batch, num_heads, src, d_k)
    scores = (batch, num_heads, tgt, src)
    output = (batch, tgt, d_model)
    return [query, key, scores, output]


@exercise(random_cases("... tgt d", "... src d"))
def turned_attention(
    x: Float[Tensor, "*batch tgt d"], memory: Float[Tensor, "*batch src d"]
) -> Float[Tensor, "*batch tgt d"]:
    """Find what is wrong in a cross-attention without matrices."""
    scores = x @ memory.mT / math.sqrt(x.size(-1))
    weights = scores.softmax(dim=-1)
    return weights @ memory


Read = tuple[Tensor, Tensor, Tensor, Tensor]
"""A memory, its mask, and the target positions that attend to it, in two parts."""


def two_memories(d_model: int, num_heads: int, dtype: torch.dtype) -> tuple[Any, ...]:
    """Two memories of three sentences each, and weights for a layer that reads them."""

    def numbers(*axes: int, seed: int) -> Tensor:
        return normal(*axes, seed=seed, dtype=dtype)

    def read(lengths: tuple[int, ...], positions: tuple[int, int]) -> Read:
        mask = torch.arange(5) < torch.tensor(lengths)[:, None]
        first, second = (numbers(3, tgt, d_model, seed=20 + i) for i, tgt in enumerate(positions))
        return numbers(3, 5, d_model, seed=lengths[0]), mask[:, None, None], first, second

    shapes = {
        f"{part}.{name}": shape
        for part in ("key", "output", "query", "value")
        for name, shape in (("bias", (d_model,)), ("weight", (d_model, d_model)))
    }
    weights = {name: numbers(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}
    return num_heads, read((5, 4, 2), (1, 1)), read((3, 5, 4), (2, 4)), weights


def translate(
    kind: Callable[..., Any], num_heads: int, first: Read, second: Read, weights: dict[str, Tensor]
) -> list[Tensor] | None:
    """Let a layer read two memories, and call it with some target positions at a time.

    After a memory was read the weights change: what is projected later comes out wrong.
    """
    layer = loaded(kind(first[0].size(-1), num_heads), weights)
    if layer is None:
        return None
    projecting = [*layer.key.parameters(), *layer.value.parameters()]  # type: ignore[union-attr]
    outputs = []
    for memory, mask, *parts in (first, second):
        layer.read(memory, mask)  # type: ignore[operator]
        with torch.no_grad():
            for weight in projecting:
                weight.neg_()
        outputs += [layer(x) for x in parts]
    return None if any(output is None for output in outputs) else outputs


@exercise(
    [
        two_memories(8, 2, torch.float64),
        two_memories(6, 3, torch.float32),
        two_memories(12, 4, torch.float64),
    ],
    ask=translate,
)
def source_reader(d_model: int, num_heads: int) -> nn.Module:
    """Build the layer of cross-attention that projects its memory once."""

    class SourceReader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(d_model, d_model)
            self.key = nn.Linear(d_model, d_model)
            self.value = nn.Linear(d_model, d_model)
            self.output = nn.Linear(d_model, d_model)

        def read(self, memory: Tensor, mask: Tensor) -> None:
            self.keys = self.split(self.key(memory))
            self.values = self.split(self.value(memory))
            self.mask = mask

        def forward(self, x: Tensor) -> Tensor:
            queries = self.split(self.query(x))
            scores = queries @ self.keys.mT / math.sqrt(queries.size(-1))
            weights = scores.masked_fill(~self.mask, -math.inf).softmax(dim=-1)
            heads = weights @ self.values
            side_by_side = heads.transpose(1, 2).flatten(2)
            return self.output(side_by_side)

        def split(self, x: Tensor) -> Tensor:  # into (batch, heads, positions, d_k)
            return x.view(*x.shape[:2], num_heads, -1).transpose(1, 2)

    return SourceReader()


@exercise(
    [
        (
            torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]),
            torch.tensor([[1, 9, 0], [1, 7, 8]]),
        ),
        (
            torch.tensor([[5, 2, 0, 0, 0], [4, 6, 7, 8, 2], [3, 9, 2, 0, 0]]),
            torch.tensor([[1, 4, 5, 6, 7, 8], [1, 3, 5, 0, 0, 0], [1, 9, 0, 0, 0, 0]]),
        ),
        (
            torch.tensor([[1, 3, 8, 2, 0], [0, 1, 6, 3, 2]]),
            torch.tensor([[1, 4, 6, 2], [1, 5, 2, 0]]),
        ),
    ]
)
def cross_mask(
    src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
) -> Bool[Tensor, "batch 1 tgt src"]:
    """Write the mask of cross-attention, with a row for every target position."""
    row = (src != PAD)[:, None, None]
    mask = row.expand(-1, -1, tgt_in.size(1), -1)
    return mask


@letters
def unchanged_by() -> list[str]:
    """Which changes of the memory leave the output of cross-attention as it is?"""
    x, words, positions = normal(4, 6, seed=0), normal(5, 6, seed=1), normal(5, 6, seed=2)
    memory, order, one = words + positions, [3, 0, 4, 2, 1], normal(6, seed=3)
    first_twice = torch.cat([memory[:1], memory])
    keys_and_values = {
        "A": (memory[order], memory[order]),
        "B": (words[order] + positions, words[order] + positions),
        "C": (memory[order], memory),
        "D": (memory.repeat(2, 1), memory.repeat(2, 1)),
        "E": (first_twice, first_twice),
        "F": (memory + one, memory),
        "G": (memory, memory + one),
    }
    attend = functional.scaled_dot_product_attention
    before = attend(x, memory, memory)
    return [
        letter
        for letter, changed in keys_and_values.items()
        if torch.allclose(before, attend(x, *changed))
    ]


def looks(tgt: int, src: int, d: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """The target, a memory, the weights of the one for the other, and the gradient that arrives."""
    shapes = (tgt, d), (src, d), (tgt, d)
    X, M, G = (normal(*shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes))
    return X, M, (X @ M.mT).softmax(1), G


Pair = Float[Tensor, "tgt src"]


@derivation(
    [
        looks(2, 3, 4, torch.float64),
        looks(5, 4, 3, torch.float32),
        looks(4, 6, 2, torch.float64),
    ]
)
def memory_gradient(
    X: Float[Tensor, "tgt d"], M: Float[Tensor, "src d"], A: Pair, G: Float[Tensor, "tgt d"]
) -> tuple[Float[Tensor, "src d"], Pair, Pair, Float[Tensor, "src d"], Float[Tensor, "src d"]]:
    """Derive the gradient that the memory gets through cross-attention."""
    as_values = A.mT @ G
    by_weights = G @ M.mT
    row_sums = (A * by_weights).sum(dim=1, keepdim=True)
    by_scores = A * (by_weights - row_sums)
    as_keys = by_scores.mT @ X
    in_all = as_values + as_keys
    return as_values, by_weights, by_scores, as_keys, in_all


Weights = dict[str, Tensor]


def _ask(
    kind: Callable[..., nn.Module],
    x: Float[Tensor, "batch target d_model"],
    memory: Float[Tensor, "batch source d_model"],
    real: Bool[Tensor, "batch source"],
    weights: Weights,
) -> Any:
    """Build a layer, give it weights, and let the words of one sentence ask those of another."""
    d_k, d_v = (len(weights[f"{name}.weight"]) for name in ("key", "value"))
    return put_to_work(kind(x.size(-1), d_k, d_v), weights, x, memory, real)


def _asking(
    target: int,
    lengths: tuple[int, ...],
    widths: tuple[int, int, int],
    dtype: torch.dtype = torch.float64,
) -> tuple[Tensor, Tensor, Tensor, Weights]:
    """Questions, texts with padding, which words are real, and weights for a layer."""
    d_model, batch, source = widths[0], len(lengths), max(lengths)
    weights = numbers_for(SelfAttention, *widths, dtype=dtype)
    real = torch.arange(source) < torch.tensor(lengths)[:, None]
    x = normal(batch, target, d_model, seed=10, dtype=dtype)
    return x, normal(batch, source, d_model, seed=11, dtype=dtype), real, weights


@exercise(
    [
        _asking(4, (4, 3), (6, 3, 5)),  # as long, so that more mistakes run
        _asking(6, (5, 2, 4), (7, 4, 3), torch.float32),
        _asking(3, (4, 5), (8, 5, 6)),
    ],
    ask=_ask,
    gap=True,
)
def cross_attention_layer(d_model: int, d_k: int, d_v: int) -> nn.Module:
    """Write a layer in which the words of one sentence ask the real words of another."""

    class CrossAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(d_model, d_k, bias=False)
            self.key = nn.Linear(d_model, d_k, bias=False)
            self.value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x: Tensor, memory: Tensor, real: Tensor) -> Tensor:
            q = self.query(x)
            k = self.key(memory)
            v = self.value(memory)
            scores = q @ k.mT / math.sqrt(d_k)
            scores = scores.masked_fill(~real[:, None], -torch.inf)
            weights = scores.softmax(dim=-1)
            output: Tensor = weights @ v
            return output

    return CrossAttention()

"""Cross-attention: layers that project their memory once, wrong in one place."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.multi_head_attention import MultiHeadAttention


class SourceReader(MultiHeadAttention):
    """The layer of the package, which keeps what it has read."""

    def read(self, memory: Tensor, mask: Tensor) -> None:
        """Keep the mask, the keys and the values."""
        self.memory, self.mask = memory, mask
        self.seen = self.project(memory, memory)

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """Ask what was read."""
        return self.attend(x, self.seen, self.mask)


def with_methods(**methods: Callable[..., Any]) -> Callable[[int, int], nn.Module]:
    """The layer with other methods."""
    return type("Faulty", (SourceReader,), methods)


def look(
    root: Callable[[int, int], float] = lambda d_k, heads: math.sqrt(d_k),
    dim: int = -1,
    fill: float = -math.inf,
    late: bool = False,
    hidden: Callable[[Tensor, Tensor], Tensor] = lambda mask, scores: ~mask,
) -> Callable[[int, int], nn.Module]:
    """The layer with another divisor, axis of the softmax, or mask."""

    def attention(self: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        scores = q @ k.mT / root(q.size(-1), q.size(1))
        out = hidden(mask, scores)
        if late:
            return scores.softmax(dim).masked_fill(out, 0) @ v
        return scores.masked_fill(out, fill).softmax(dim) @ v

    return with_methods(attention=attention)


def no_softmax(self: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """The scores as weights."""
    return (q @ k.mT / math.sqrt(q.size(-1))).masked_fill(~mask, 0) @ v


def split_across(self: SourceReader, x: Tensor, heads: int | None = None) -> Tensor:
    """Heads cut across positions."""
    return x.reshape(x.size(0), heads or self.num_heads, x.size(1), -1)


def join_across(self: SourceReader, *given: Tensor) -> Tensor:
    """Heads joined across positions."""
    heads = ScaledDotProductAttention()(*given)
    return self.split(heads.reshape(heads.size(0), heads.size(2), -1))


def keep_the_first(self: SourceReader, memory: Tensor, mask: Tensor) -> None:
    """The keys and values of the first memory stay."""
    self.mask = mask
    if not hasattr(self, "seen"):
        self.seen = self.project(memory, memory)


def both_memories(self: SourceReader, memory: Tensor, mask: Tensor) -> None:
    """The second memory comes beside the first."""
    old = (self.memory, self.mask) if hasattr(self, "seen") else (memory[:, :0], mask[..., :0])
    both = torch.cat([old[0], memory], dim=1), torch.cat([old[1], mask], dim=-1)
    SourceReader.read(self, *both)


def keep_all_of_the_first(self: SourceReader, memory: Tensor, mask: Tensor) -> None:
    """The first memory and its mask stay."""
    if not hasattr(self, "seen"):
        SourceReader.read(self, memory, mask)


def keep_the_first_mask(self: SourceReader, memory: Tensor, mask: Tensor) -> None:
    """The mask of the first memory stays."""
    SourceReader.read(self, memory, self.mask if hasattr(self, "seen") else mask)


def project_late(self: SourceReader, x: Tensor) -> Tensor:
    """The memory is projected when it is asked."""
    return self.attend(x, self.project(self.memory, self.memory), self.mask)


def add_the_mask(self: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """True adds 1 to a score."""
    return (q @ k.mT / math.sqrt(q.size(-1)) + mask.to(q)).softmax(-1) @ v


def answer_for(part: slice) -> Callable[[int, int], nn.Module]:
    """The layer answers for some of the positions only."""
    return with_methods(forward=lambda self, x: SourceReader.forward(self, x[:, part]))

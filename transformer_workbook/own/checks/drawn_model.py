"""A translator with random logits, on which searches are compared."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.translator import State, Translator
from transformer_workbook.own.checks.check import drawn

VOCAB = 6


@dataclass(frozen=True)
class Read(State):
    """Everything that was read."""

    src: Int[Tensor, "batch src"]
    tokens: Int[Tensor, "batch tgt"]


class Table(Translator):
    """A translator whose logits are random numbers that depend on the source and the prefix.

    In training mode they are others, as with dropout.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read_with_gradients = False

    def start(self, src: Int[Tensor, "batch src"]) -> Read:
        """Start with an empty target."""
        return Read(src, src[:, :0])

    def extend(self, state: Any, tokens: Int[Tensor, "batch tgt"]) -> tuple[Tensor, Read]:
        """Return the logits after each token."""
        self.read_with_gradients |= torch.is_grad_enabled()
        read = torch.cat([state.tokens, tokens], dim=1)
        first = state.tokens.size(1) + 1
        rows = [
            torch.stack([logits_after(tuple(s), tuple(t[:n])) for n in range(first, len(t) + 1)])
            for s, t in zip(state.src.tolist(), read.tolist(), strict=True)
        ]
        return torch.stack(rows) * (-1 if self.training else 1), Read(state.src, read)


@cache
def logits_after(src: tuple[int, ...], read: tuple[int, ...]) -> Tensor:
    """Compute the logits of the token after a prefix, for a source."""
    return 4 * drawn(repr(([i for i in src if i], read)), VOCAB)

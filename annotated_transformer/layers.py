"""The layers of the Transformer: attention and feed-forward, each within a residual connection."""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.errors import InputError
from annotated_transformer.multi_head_attention import MultiHeadAttention

Norm = Literal["post", "pre"]
KeyValue = tuple[Tensor, Tensor]
"""Projected keys (batch, heads, time, d_k) and values (batch, heads, time, d_v)."""


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W₁ + b₁) W₂ + b₂, at each position by itself.

    Source: Vaswani et al. 2017, section 3.3, equation 2.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(
        self, x: Float[Tensor, "batch time d_model"]
    ) -> Float[Tensor, "batch time d_model"]:
        """The same small network at every position."""
        output: Tensor = self.outer(torch.relu(self.inner(x)))
        return output


class Residual(nn.Module):
    """A shortcut around a sub-layer, with layer normalisation.

    - post-norm, as in the paper: LayerNorm(x + Dropout(Sublayer(x))).
    - pre-norm: x + Dropout(Sublayer(LayerNorm(x))). The shortcut is never normalised; the stack
      therefore needs one more LayerNorm at its end.

    Source: Vaswani et al. 2017, sections 3.1 and 5.4; pre-norm: Xiong et al. 2020.
    """

    def __init__(self, d_model: int, dropout: float, norm: Norm) -> None:
        """Make the connection.

        Raises:
            InputError: if norm is neither "post" nor "pre".
        """
        super().__init__()
        if norm not in ("post", "pre"):
            raise InputError(f"norm is {norm!r}, it must be 'post' or 'pre'.")
        self.is_pre = norm == "pre"
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch time d_model"],
        sublayer: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "batch time d_model"]:
        """x with what the sub-layer has to add."""
        added: Tensor
        if self.is_pre:
            added = x + self.dropout(sublayer(self.norm(x)))
        else:
            added = self.norm(x + self.dropout(sublayer(x)))
        return added


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward. (Vaswani et al. 2017, section 3.1.)"""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.residual_1, self.residual_2 = residual(), residual()

    def forward(
        self, x: Float[Tensor, "batch src d_model"], mask: Bool[Tensor, "#batch 1 #src src"]
    ) -> Float[Tensor, "batch src d_model"]:
        """One layer further."""
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, mask))
        x = self.residual_2(x, self.feed_forward)
        return x


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the memory, feed-forward.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.residual_1, self.residual_2, self.residual_3 = residual(), residual(), residual()

    def forward(
        self,
        x: Float[Tensor, "batch tgt d_model"],
        memory: Float[Tensor, "batch src d_model"],
        mask: Bool[Tensor, "#batch 1 tgt tgt"],
        memory_mask: Bool[Tensor, "batch 1 1 src"],
    ) -> Float[Tensor, "batch tgt d_model"]:
        """One layer further, for all target positions at once."""
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, mask))
        x = self.residual_2(x, lambda y: self.cross_attention(y, memory, memory, memory_mask))
        x = self.residual_3(x, self.feed_forward)
        return x

    def step(
        self,
        x: Float[Tensor, "batch 1 d_model"],
        past: KeyValue,
        memory: KeyValue,
        memory_mask: Bool[Tensor, "batch 1 1 src"],
    ) -> tuple[Float[Tensor, "batch 1 d_model"], KeyValue]:
        """The same for the newest position alone, given the keys and values of those before it.

        ``past`` are the projected keys and values of the earlier target positions, ``memory``
        those of the source. Returns the output and ``past`` with the newest position appended.
        No mask hides the future: there is none yet.
        """

        def attend_to_past(y: Tensor) -> Tensor:
            nonlocal past
            key, value = self.self_attention.project(y, y)
            past = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
            return self.self_attention.attend(y, *past)

        x = self.residual_1(x, attend_to_past)
        x = self.residual_2(x, lambda y: self.cross_attention.attend(y, *memory, memory_mask))
        x = self.residual_3(x, self.feed_forward)
        return x, past

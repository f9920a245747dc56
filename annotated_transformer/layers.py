"""The layers of the Transformer: attention and feed-forward, each within a residual connection."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.ground.inputs import require_number, require_sizes
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.translator import State

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "swish": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W₁ + b₁) W₂ + b₂, applied at each position separately.

    The paper's max(0, z) is the activation "relu"; "swish" uses z / (1 + e⁻ᶻ) instead, "gelu"
    z times the probability that a normal number is below z, and "gelu_tanh" the approximation of
    it with which GPT-2 was trained.

    Source: Vaswani et al. 2017, section 3.3, equation 2; swish: Ramachandran et al. 2017; GELU:
    Hendrycks and Gimpel 2016.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu") -> None:
        """Make the two layers.

        Raises:
            InputError: if a size is not an integer of at least 1, or the activation is unknown.
        """
        require_sizes(d_model=d_model, d_ff=d_ff)
        super().__init__()
        require_choice("activation", activation, ACTIVATIONS)
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.activation = ACTIVATIONS[activation]

    def forward(
        self, x: Float[Tensor, "batch time d_model"]
    ) -> Float[Tensor, "batch time d_model"]:
        """Apply the same small network at every position."""
        return self.outer(self.activation(self.inner(x)))


NORMS: dict[str, Callable[..., nn.Module]] = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
NORM_POSITIONS = ("post", "pre")


def make_norm(name: str, d_model: int, epsilon: float = 1e-5) -> nn.Module:
    """Make the normalisation layer of that name.

    - "layer": (x − mean) / √(variance + ε), then a trained factor and shift for each dimension;
    - "rms": x / √(mean of x² + ε), then a trained factor, without mean and shift.

    Source: Ba et al. 2016; Zhang and Sennrich 2019, equation 4.

    Raises:
        InputError: if the name is not one of ``NORMS``, or a number is out of its range.
    """
    require_choice("norm", name, NORMS)
    require_sizes(d_model=d_model)
    require_number("epsilon", epsilon)
    return NORMS[name](d_model, eps=epsilon)


class Residual(nn.Module):
    """A residual connection around a sub-layer, with normalisation.

    - post-norm, as in the paper: Norm(x + Dropout(Sublayer(x))).
    - pre-norm: x + Dropout(Sublayer(Norm(x))). The residual path is never normalised; the stack
      therefore needs one more normalisation at its end.

    Source: Vaswani et al. 2017, sections 3.1 and 5.4; pre-norm: Xiong et al. 2020.
    """

    def __init__(
        self,
        d_model: int,
        dropout: float,
        norm_position: str,
        norm: str = "layer",
        epsilon: float = 1e-5,
    ) -> None:
        """Make the connection.

        Raises:
            InputError: if the kind of normalisation or its position is unknown, or a number is out
                of its range.
        """
        super().__init__()
        require_choice("norm_position", norm_position, NORM_POSITIONS)
        require_number("dropout", dropout)  # nn.Dropout refuses what is above 1
        self.is_pre = norm_position == "pre"
        self.norm = make_norm(norm, d_model, epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch time d_model"],
        sublayer: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "batch time d_model"]:
        """Apply the sub-layer within the residual connection."""
        added = self.dropout(sublayer(self.norm(x) if self.is_pre else x))  # (batch, time, d_model)
        return x + added if self.is_pre else self.norm(x + added)


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
        self, x: Float[Tensor, "batch src d_model"], mask: Bool[Tensor, "#batch 1 #src src"] | None
    ) -> Float[Tensor, "batch src d_model"]:
        """Apply the layer; without a mask, every position sees every other."""
        x = self.residual_1(x, lambda y: self.self_attention(y, y, y, mask))
        x = self.residual_2(x, self.feed_forward)
        return x


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the memory, feed-forward.

    Without cross-attention it is the layer of a language model, which has no source. Self-attention
    may be of another kind, with a state of its own in place of a KV cache, as linear attention is.

    Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention | None,
        feed_forward: FeedForward,
        residual: Callable[[], Residual],
    ) -> None:
        super().__init__()
        self.self_attention: Any = self_attention  # its ``extend`` takes what its ``empty`` makes
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.residual_1 = residual()
        if cross_attention is not None:
            self.residual_2 = residual()
        self.residual_3 = residual()

    def forward(
        self,
        x: Float[Tensor, "batch tgt d_model"],
        past: State,
        mask: Bool[Tensor, "#batch 1 #tgt past_and_tgt"],
        memory: KeyValues | None = None,
        memory_mask: Bool[Tensor, "batch 1 #tgt src"] | None = None,
        positions: Int[Tensor, "#batch tgt"] | None = None,
    ) -> tuple[Float[Tensor, "batch tgt d_model"], State]:
        """Apply the layer to any number of new target positions.

        ``past`` holds the projected keys and values of the target positions before them (empty
        when a whole sentence is read at once), ``memory`` those of the source, for a layer with
        cross-attention. Returns the output, and ``past`` with the new positions appended.

        Raises:
            InputError: if there is cross-attention without memory, or the reverse.
        """
        look = self.cross_attention
        if (look is None) != (memory is None):
            raise InputError("memory must be given exactly if the layer has cross-attention.")

        def attend(y: Tensor) -> Tensor:
            nonlocal past
            y, past = self.self_attention.extend(y, past, mask, positions)
            return y

        x = self.residual_1(x, attend)
        if look is not None and memory is not None:
            x = self.residual_2(x, lambda y: look.attend(y, memory, memory_mask))
        x = self.residual_3(x, self.feed_forward)
        return x, past

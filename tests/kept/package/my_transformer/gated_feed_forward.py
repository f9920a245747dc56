"""Gated feed-forward networks: each hidden unit is multiplied by a gate (SwiGLU, GEGLU)."""

from jaxtyping import Float
from torch import Tensor, nn

from my_transformer.layers import FeedForward


class GatedFeedForward(FeedForward):
    """FFN(x) = (activation(x V + c) ⊗ (x W₁ + b₁)) W₂ + b₂: each hidden unit has a gate.

    With the activation "swish" it is SwiGLU, with "gelu" GEGLU. A third matrix is trained, so that
    two thirds of d_ff make as many parameters as in the network without gates.

    Source: Shazeer 2020, equation 6.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "swish") -> None:
        # Its parts, by name: gate (nn.Linear).
        raise NotImplementedError("GatedFeedForward.__init__: chapter 20")

    def forward(
        self, x: Float[Tensor, "batch time d_model"]
    ) -> Float[Tensor, "batch time d_model"]:
        """Apply the same small network at every position."""
        raise NotImplementedError("GatedFeedForward.forward: chapter 20")

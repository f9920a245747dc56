"""Attention for short sentences in 16 bits: written out, it beats the fused kernel of PyTorch."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.soft_lookup import SoftLookup

SHORT = 128
"""Keys up to which the weights are small beside all else, so that storing them costs little."""


class FastAttention(ScaledDotProductAttention):
    """The same attention, one operation at a time where there are few keys, in bfloat16.

    In float32 the fused kernel takes as long, so it stays.
    """

    def forward(
        self,
        query: Float[Tensor, "*batch query d_k"],
        key: Float[Tensor, "*batch key d_k"],
        value: Float[Tensor, "*batch key d_v"],
        mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Float[Tensor, "*batch query d_v"]:
        """The weighted sum of the values, one for every query."""
        written_out = query.dtype == torch.bfloat16 and key.size(-2) <= SHORT
        attend = SoftLookup.forward if written_out else ScaledDotProductAttention.forward
        return attend(self, query, key, value, mask)

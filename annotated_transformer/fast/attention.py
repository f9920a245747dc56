"""Attention for short sentences: written out, it is faster than the fused kernel of PyTorch."""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.fast.products import is_for_cpu

SHORT = {torch.bfloat16: 128, torch.float32: 48}
"""For each number format, the largest number of keys for which this is faster on a CPU."""


class WrittenOut(torch.autograd.Function):
    """The same attention, one operation at a time, with its gradients.

    PyTorch's softmax over rows is optimised for long ones; these have a dozen numbers. Its softmax
    over columns handles a dozen of them at once, so every query has a column here. Products are
    rounded to the format of the input, and the softmax has at least 32 bits.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Compute the weighted sum of the values."""
        query, key, value = (x.contiguous() for x in (query, key, value))  # each is used twice
        scores = (key @ query.mT).to(torch.promote_types(query.dtype, torch.float32))
        scores /= math.sqrt(query.size(-1))
        if mask is not None:
            scores += torch.where(mask.mT, 0.0, -torch.inf).to(scores)
        weights = scores.softmax(-2).to(query.dtype)
        # For a query that may attend to no key they are nan: they become 0.
        if mask is not None and not (sees := mask.any(-1, keepdim=True)).all():
            weights = weights.masked_fill(~sees.mT, 0)
        ctx.save_for_backward(query, key, value, weights)
        return weights.mT @ value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        """Compute the gradients of query, key and value: those of scores are αⱼ (gⱼ − Σₖ αₖ gₖ)."""
        query, key, value, weights = ctx.saved_tensors
        gradient = gradient.contiguous()
        slopes = (value @ gradient.mT).to(torch.promote_types(query.dtype, torch.float32))
        kept = weights.to(slopes)
        slopes = torch.ops.aten._softmax_backward_data(slopes, kept, -2, slopes.dtype)
        slopes /= math.sqrt(query.size(-1))
        into_scores = slopes.to(query.dtype)
        return into_scores.mT @ key, into_scores @ query, weights @ gradient, None


class FastAttention(ScaledDotProductAttention):
    """The same attention, written out if there are few keys."""

    def forward(
        self,
        query: Float[Tensor, "*batch query d_k"],
        key: Float[Tensor, "*batch key d_k"],
        value: Float[Tensor, "*batch key d_v"],
        mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Float[Tensor, "*batch query d_v"]:
        """Compute the weighted sum of the values for every query."""
        short = SHORT.get(query.dtype, 0) if is_for_cpu(query) else 0
        if not 0 < key.size(-2) <= short:
            return super().forward(query, key, value, mask)
        heads: Tensor = WrittenOut.apply(query, key, value, mask)  # type: ignore[no-untyped-call]
        return heads

"""Masks: which query may attend to which key. ``True`` means *may attend*.

A mask is boolean and broadcasts to (batch, heads, query, key). Padding masks have the shape
(batch, 1, 1, key), causal masks (1, 1, query, key); ``&`` combines them.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.batches import padding_mask


def causal_mask(length: int, device: torch.device | None = None) -> Bool[Tensor, "1 1 time time"]:
    """Position t may attend to positions 0 … t, and to nothing that comes later.

    >>> causal_mask(3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def target_mask(tgt_in: Int[Tensor, "batch tgt"]) -> Bool[Tensor, "batch 1 tgt tgt"]:
    """The mask of the decoder's self-attention: neither the future nor padding.

    >>> target_mask(torch.tensor([[1, 7, 0]]))[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 0]], dtype=torch.int32)
    """
    return causal_mask(tgt_in.size(1), tgt_in.device) & padding_mask(tgt_in)

"""Masks: which query may attend to which key. ``True`` means *may attend*.

A mask is boolean and broadcasts to (batch, heads, query, key). Padding masks have the shape
(batch, 1, 1, key), causal masks (1, 1, query, key); ``&`` combines them.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.ground.inputs import require_rows, require_span
from annotated_transformer.tokens import PAD


def padding_mask(tokens: Int[Tensor, "batch key"]) -> Bool[Tensor, "batch 1 1 key"]:
    """Make a mask that is ``True`` at tokens and ``False`` at padding.

    The two axes of size 1 stand for heads and queries: every query of every head sees the same
    keys. ``padding_mask(tokens)[:, 0]`` is the mask for attention without heads.

    >>> padding_mask(torch.tensor([[5, 6, 7], [8, 0, 0]]))[:, 0, 0]
    tensor([[ True,  True,  True],
            [ True, False, False]])

    Raises:
        InputError: if it is not a tensor (batch, key).
    """
    require_rows("tokens", tokens)
    return (tokens != PAD)[:, None, None, :]


def causal_mask(
    length: int, start: int = 0, device: torch.device | None = None
) -> Bool[Tensor, "1 1 query length"]:
    """Make a mask in which position t may attend to positions 0 … t only.

    The queries are those of positions ``start`` … ``length`` − 1: only the newest tokens, if
    a decoder has already read the earlier ones.

    >>> causal_mask(3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)

    Source: Vaswani et al. 2017, section 3.2.3.

    Raises:
        InputError: if there are no such positions.
    """
    require_span(start, length)
    everything = torch.ones(1, 1, length - start, length, dtype=torch.bool, device=device)
    return everything.tril(diagonal=start)  # (1, 1, query, length)


def target_mask(
    tgt_in: Int[Tensor, "batch tgt"], start: int = 0
) -> Bool[Tensor, "batch 1 query tgt"]:
    """Make the mask of the decoder's self-attention, which hides the future and padding.

    The queries are those of positions ``start`` and later.

    >>> target_mask(torch.tensor([[1, 7, 0]]))[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 0]], dtype=torch.int32)

    Raises:
        InputError: if it is not a tensor (batch, tgt), or there is no such position.
    """
    require_rows("tgt_in", tgt_in)
    return causal_mask(tgt_in.size(1), start, tgt_in.device) & padding_mask(tgt_in)

"""Dropout from cheap random bits: sixteen bits decide about each number."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.fast.products import is_for_cpu

LEVELS = 2**16


def random_mask(like: Float[Tensor, "*shape"], kept: int) -> Float[Tensor, "*shape"]:
    """Draw a mask of independent numbers: 1 with probability kept / 65,536, else 0.

    Shape and type are those of ``like``. Four numbers share a random number of 64 bits, which costs
    less than four numbers. They come from a generator that takes half the time of PyTorch's, and
    is seeded by PyTorch's.
    """
    words = np.random.SFC64(int(torch.randint(2**63 - 1, ()))).random_raw(-(-like.numel() // 4))
    numbers = torch.from_numpy(words).view(torch.int16)[: like.numel()].view(like.shape)
    # As numbers at once: converting booleans to 16 bits takes longer than all the rest.
    return torch.lt(numbers, kept - LEVELS // 2, out=like.new_empty(like.shape))


class FastDropout(nn.Dropout):
    """Dropout whose probability is rounded to 1/65,536; the mean stays, to rounding.

    For CPUs only: an accelerator draws and multiplies in one pass.

    Source: Srivastava et al. 2014.
    """

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Set some numbers to zero, and scale the others so that the mean is unchanged."""
        if not is_for_cpu(x):
            return super().forward(x)
        kept = max(1, round((1 - self.p) * LEVELS))
        if not self.training or kept == LEVELS:
            return x
        return x * random_mask(x, kept).mul_(LEVELS / kept)

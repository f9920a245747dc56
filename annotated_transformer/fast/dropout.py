"""Dropout from cheap random bits: sixteen of them decide about a number."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

LEVELS = 2**16


def random_mask(shape: torch.Size, kept: int, device: torch.device) -> Bool[Tensor, "..."]:
    """``True`` with probability kept / 65,536, at each place by itself.

    Four places share a random number of 64 bits, which costs less than four numbers.
    """
    size = math.prod(shape)
    words = torch.empty(-(-size // 4), dtype=torch.int64, device=device).random_(-(2**63), None)
    return (words.view(torch.int16)[:size] < kept - LEVELS // 2).view(shape)


class FastDropout(nn.Dropout):
    """Dropout whose probability is rounded to 1/65,536; the mean stays, to rounding.

    Source: Srivastava et al. 2014.
    """

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Zero some numbers, and enlarge the others by so much that the mean stays."""
        kept = max(1, round((1 - self.p) * LEVELS))
        if not self.training or kept == LEVELS:
            return x
        factors = random_mask(x.shape, kept, x.device).to(x.dtype).mul_(LEVELS / kept)
        return x * factors

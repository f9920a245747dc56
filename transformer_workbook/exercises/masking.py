"""Exercises of the chapter "Masking: what may not be seen"."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.tokens import PAD
from transformer_workbook.exercises.cases import random_cases
from transformer_workbook.judge import exercise, number


@exercise(
    [
        (pad([[1, 6, 5, 2], [1, 7]]), 2),
        (pad([[1, 8, 2], [9, 8, 7, 6, 2], [1, 3, 4, 2]]), 3),
        (pad([[1, 6, 5, 4, 9, 3], [7, 2, 8, 1]]).flip(1), 4),  # padded on the left
        (pad([[5, 2], [5, 6, 2]]), 1),
    ]
)
def window_mask(ids: Int[Tensor, "batch time"], width: int) -> Bool[Tensor, "batch 1 time time"]:
    """The causal window mask of a batch: each place sees width places, and no padding."""
    place = torch.arange(ids.size(1))
    back = place[:, None] - place
    near = (back >= 0) & (back < width)
    words = (ids != PAD)[:, None, None]
    mask = words & near
    return mask


@exercise(random_cases("... time d_k", "... time d_k", "... time d_v"))
def causal_attention(
    query: Float[Tensor, "*batch time d_k"],
    key: Float[Tensor, "*batch time d_k"],
    value: Float[Tensor, "*batch time d_v"],
) -> Float[Tensor, "*batch time d_v"]:
    """Causal attention, after the bug in the friend's is found."""
    scores = query @ key.mT / math.sqrt(query.size(-1))
    past = torch.ones_like(scores).tril() == 1
    return scores.masked_fill(~past, -torch.inf).softmax(dim=-1) @ value


LAYERS, WIDTH = 3, 5


def reach(layers: int = LAYERS, width: int = WIDTH) -> int:
    """How many places back a layer above others sees, each of them through a window."""
    back = torch.arange(100)[:, None] - torch.arange(100)
    window = ((back >= 0) & (back < width)).double()
    seen = torch.linalg.matrix_power(window, layers)[-1]
    return int(back[-1, seen > 0].max())


@number()
def far_reach() -> int:
    """How many places back do three layers see, each through a window of five?"""
    return reach()

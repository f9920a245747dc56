"""Positional encoding: words and their positions, put together."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _embed_from(
    x: Float[Tensor, "batch time d"], table: Float[Tensor, "positions d"], start: int
) -> Float[Tensor, "batch time d"]:
    return x * math.sqrt(x.size(-1)) + table[start : start + x.size(1)]


embed_from = Exercise(
    reference=_embed_from,
    mistakes={
        "you begin at position 0 again; the first word of x stands at position start.": (
            lambda x, table, start: _embed_from(x, table, 0)
        ),
        "the factor √d is missing.": lambda x, table, start: x + table[start : start + x.size(1)],
        "the factor is √d, not d.": (
            lambda x, table, start: x * x.size(-1) + table[start : start + x.size(1)]
        ),
        "you multiply the sum by √d; only the word is multiplied.": (
            lambda x, table, start: (x + table[start : start + x.size(1)]) * x.size(-1) ** 0.5
        ),
        "you multiply the position by √d; the word is what needs it.": (
            lambda x, table, start: x + table[start : start + x.size(1)] * x.size(-1) ** 0.5
        ),
        "you divide by √d; that is for scores.": (
            lambda x, table, start: x / x.size(-1) ** 0.5 + table[start : start + x.size(1)]
        ),
        "every word gets the position of the first.": (
            lambda x, table, start: x * x.size(-1) ** 0.5 + table[start]
        ),
        "you count from start + 1; the first word of x stands at position start.": (
            lambda x, table, start: _embed_from(x, table, start + 1)
        ),
        "words and positions are multiplied; they are added.": (
            lambda x, table, start: x * x.size(-1) ** 0.5 * table[start : start + x.size(1)]
        ),
        "you put them side by side; the two are added.": (
            lambda x, table, start: torch.cat(
                [x * x.size(-1) ** 0.5, table[start : start + x.size(1)].expand_as(x)], dim=-1
            )
        ),
        "a slice ends where it ends, not after so many: [start : start + length].": (
            lambda x, table, start: x * x.size(-1) ** 0.5 + table[start : x.size(1)]
        ),
        "you take all positions from start on; x has only as many words as it has.": (
            lambda x, table, start: x * x.size(-1) ** 0.5 + table[start:]
        ),
        "the positions are missing.": lambda x, table, start: x * x.size(-1) ** 0.5,
    },
    cases=[
        (normal(2, 3, 4, seed=0), normal(7, 4, seed=1), 1),
        (normal(4, 2, 6, seed=2).float(), normal(9, 6, seed=3).float(), 5),
        (normal(3, 5, 2, seed=4), normal(8, 2, seed=5), 0),
        (normal(2, 3, 4, seed=6), normal(7, 4, seed=7), 4),  # up to the end of the table
    ],
)

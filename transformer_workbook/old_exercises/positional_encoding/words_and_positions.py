"""Positional encoding: words and their positions, put together."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


def _embed_from(
    x: Float[Tensor, "batch time d"], table: Float[Tensor, "positions d"], start: int
) -> Float[Tensor, "batch time d"]:
    """Words times √d, plus the encodings of their positions from start on."""
    return x * math.sqrt(x.size(-1)) + table[start : start + x.size(1)]


def _wrong(
    rows: Callable[[int, int], slice | int] = lambda start, time: slice(start, start + time),
    word: Callable[[int], float] = math.sqrt,
    place: Callable[[int], float] = lambda d: 1,
    join: Callable[[Tensor, Tensor], Tensor] = torch.add,
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """The sum with other rows of the table, other factors (of d), or no sum at all."""
    return lambda x, table, start: join(
        x * word(x.size(-1)), place(x.size(-1)) * table[rows(start, x.size(1))]
    )


def _side_by_side(x: Tensor, places: Tensor) -> Tensor:
    return torch.cat([x, places.expand_as(x)], dim=-1)


def _other_root(size: Callable[[Tensor, Tensor], int]) -> Callable[[Tensor, Tensor, int], Tensor]:
    """The sum with the root of another size in place of d."""
    return lambda x, table, start: x * math.sqrt(size(x, table)) + table[start : start + x.size(1)]


embed_from = Exercise(
    reference=_embed_from,
    given={
        "the positions begin at 0 again; the first word of x stands at position start.": (
            _wrong(lambda start, time: slice(time))
        ),
        "every word has the position of the first.": _wrong(lambda start, time: start),
        "a slice ends where it ends, not after so many: [start : start + length].": (
            _wrong(lambda start, time: slice(start, time))
        ),
        "these are all positions from start on; x has only as many words as it has.": (
            _wrong(lambda start, time: slice(start, None))
        ),
        "the positions begin at start + 1; the first word of x stands at position start.": (
            _wrong(lambda start, time: slice(start + 1, start + time + 1))
        ),
        "the positions begin at start − 1; the first word of x stands at position start.": (
            _wrong(lambda start, time: slice(start - 1, start + time - 1))
        ),
        "the positions begin one early, at start − 1, but for start = 0; the first is start.": (
            lambda x, table, start: _embed_from(x, table, max(start - 1, 0))
        ),
        "every word has the position of the last.": (_wrong(lambda start, time: start + time - 1)),
        "every word has the position after the last.": _wrong(lambda start, time: start + time),
        "every word has position 0.": _wrong(lambda start, time: 0),
        "the positions are in the opposite order; the first word stands at start.": (
            lambda x, table, start: _embed_from(x.flip(1), table, start).flip(1)
        ),
        "each sentence has one position here; each word has its own.": (
            lambda x, table, start: (
                x * math.sqrt(x.size(-1)) + table[start : start + len(x)][:, None]
            )
        ),
        "the factor is the root of the number of words; √d is asked for.": (
            _other_root(lambda x, table: x.size(1))
        ),
        "the factor is the root of the number of sentences; √d is asked for.": (
            _other_root(lambda x, table: x.size(0))
        ),
        "the factor is the root of the number of positions; √d is asked for.": (
            _other_root(lambda x, table: len(table))
        ),
        "the positions are subtracted; they are added.": _wrong(place=lambda d: -1),
        "the positions are added twice.": _wrong(place=lambda d: 2),
        "these positions end at start; they begin there.": (
            _wrong(lambda start, time: slice(max(0, start - time), start))
        ),
        "the factor √d is missing.": _wrong(word=lambda d: 1),
        "the factor is √d, not d.": _wrong(word=float),
        "the word is divided by √d; that is for scores.": _wrong(word=lambda d: d**-0.5),
        "the sum is multiplied by √d; only the word is.": _wrong(place=math.sqrt),
        "the position is multiplied by √d; the word is what needs it.": (
            _wrong(word=lambda d: 1, place=math.sqrt)
        ),
        "** comes before /: put 1/2 into brackets.": _wrong(word=lambda d: d**1 / 2),
        "the positions are missing.": _wrong(place=lambda d: 0),
        "words and positions are multiplied; they are added.": _wrong(join=torch.mul),
        "the two stand side by side; they are added.": _wrong(join=_side_by_side),
    },
    cases=[
        (normal(2, 3, 4, seed=0), normal(7, 4, seed=1), 1),
        (normal(4, 2, 6, seed=2).float(), normal(9, 6, seed=3).float(), 5),
        (normal(3, 5, 2, seed=4), normal(8, 2, seed=5), 0),
        (normal(2, 3, 4, seed=6), normal(7, 4, seed=7), 4),  # up to the end of the table
    ],
)

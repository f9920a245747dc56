"""Tokens and batches: the tokens of a padded batch are counted and shifted."""

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.tokens import BOS, EOS, PAD, UNK
from transformer_workbook.judge.exercises import Exercise


def _count_tokens(ids: Int[Tensor, "batch length"]) -> Int[Tensor, " batch"]:
    """How many tokens does each sentence of a batch have, padding not counted?"""
    return (ids != PAD).sum(dim=-1)


count_tokens = Exercise(
    reference=_count_tokens,
    given={
        "padding is counted, too: every row has the same length.": (
            lambda ids: torch.full((len(ids),), ids.size(1))
        ),
        "this is the length of the rectangle, one number; each sentence has its own.": (
            lambda ids: ids.size(1)
        ),
        "this is the number of sentences; count the tokens of each.": len,
        "these are the numbers of padding tokens; count the others.": (
            lambda ids: (ids == PAD).sum(1)
        ),
        "these are sums over the sentences: sum along the last axis.": (
            lambda ids: (ids != PAD).sum(0)
        ),
        "you add up the ids; compare them with PAD first.": lambda ids: ids.sum(1),
        "this is one number for the whole batch: sum along the last axis only.": (
            lambda ids: (ids != PAD).sum()
        ),
        "this is the mask; sum it along its last axis.": lambda ids: ids != PAD,
        "these are shares of the row; a number of tokens is a sum, not a mean.": (
            lambda ids: (ids != PAD).double().mean(1)
        ),
        "the result has the shape (batch, 1); (batch,) is asked for.": (
            lambda ids: (ids != PAD).sum(1, keepdim=True)
        ),
        "special tokens are left out; PAD alone is no token of the sentence.": (
            lambda ids: (ids > UNK).sum(1)
        ),
        "BOS and EOS are not counted; PAD alone is no token of the sentence.": (
            lambda ids: (ids > EOS).sum(1)
        ),
        "EOS is not counted; PAD alone is no token of the sentence.": (
            lambda ids: ((ids != PAD) & (ids != EOS)).sum(1)
        ),
        "a token that occurs twice is counted once.": (
            lambda ids: torch.tensor([len({*row} - {PAD}) for row in ids.tolist()])
        ),
        "the longest sentence gets 0; it has no padding whose place could be found.": (
            lambda ids: (ids == PAD).int().argmax(1)
        ),
        "these are the places of the last tokens; places count from 0.": (
            lambda ids: (ids != PAD).sum(1) - 1
        ),
    },
    cases=[(pad([[5, 6, 5], [7]]),), (pad([[BOS, 4, 4, 9, EOS], [9, EOS], [UNK, 8, 6, EOS]]),)],
)


def _shift(tgt_out: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    """What does the decoder read, given the padded batch that it must say?"""
    first = torch.full_like(tgt_out[:, :1], BOS)
    words = tgt_out.masked_fill(tgt_out == EOS, PAD)
    return torch.cat([first, words[:, :-1]], dim=1)


def _wrong(
    first: int = BOS, dropped: int = EOS, begin: int = 0, end: int | None = -1
) -> Callable[[Tensor], Tensor]:
    """The shift with another first token, without dropping EOS, or with another part of it."""
    return lambda y: torch.cat(
        [torch.full_like(y[:, :1], first), y.masked_fill(y == dropped, PAD)[:, begin:end]], dim=1
    )


def _rows(ids: Tensor) -> list[list[int]]:
    """What the decoder reads, without padding."""
    return [[BOS, *(i for i in row if i not in (PAD, EOS))] for row in ids.tolist()]


def _last_column(ids: Tensor, dropped: int) -> Tensor:
    """The shift that drops a token in the last column alone."""
    read = _wrong(dropped=-1)(ids)
    return torch.cat([read[:, :-1], read[:, -1:].masked_fill(read[:, -1:] == dropped, PAD)], dim=1)


def _by_rows(y: Tensor) -> Tensor:
    """A row of BOS in front of the batch, and its last row gone."""
    return torch.cat([torch.full_like(y[:1], BOS), y[:-1]])


shift = Exercise(
    reference=_shift,
    given={
        "the shorter sentences still read their EOS; nothing is asked after it.": _wrong(
            dropped=-1
        ),
        "each row is one token too long, and EOS is still read; nothing is asked after it.": (
            _wrong(dropped=-1, end=None)
        ),
        "each row is one token too long; the last column is padding alone.": _wrong(end=None),
        "nothing has moved: the decoder would read the word that it must say.": torch.clone,
        "EOS is gone, but nothing has moved, and BOS is missing.": (
            lambda y: y.masked_fill(y == EOS, PAD)
        ),
        "BOS has taken the place of the first word; the words have to move.": (
            _wrong(begin=1, end=None)
        ),
        "BOS has taken the place of the first word, and EOS is still read.": (
            _wrong(dropped=-1, begin=1, end=None)
        ),
        "BOS is missing, and what stood last in a row comes first.": lambda y: y.roll(1, 1),
        "BOS is missing, and what stood last in a row comes first in the next.": (
            lambda y: y.roll(1)
        ),
        "BOS comes first in the longest sentences only; the others begin with padding.": (
            lambda y: y.where(y != EOS, BOS).roll(1, 1)
        ),
        "the last word of each sentence is gone, and the shorter ones still read EOS.": (
            lambda y: _wrong(dropped=-1)(y).masked_fill(y == EOS, PAD)
        ),
        "EOS is still read unless it stands in the last column; nothing is asked after it.": (
            lambda y: _last_column(y, EOS)
        ),
        "BOS has taken the place of EOS; it comes first, and the words move.": (
            lambda y: y.masked_fill(y == EOS, BOS)
        ),
        "BOS comes first, and once more in the place of EOS; there PAD is read.": (
            lambda y: _wrong(dropped=-1)(y.masked_fill(y == EOS, BOS))
        ),
        "the rows are of different lengths; a batch must remain a rectangle: fill up with PAD.": (
            lambda y: torch.stack([*map(torch.tensor, _rows(y))])
        ),
        "these rows are of different lengths, in a list; a rectangle is asked for.": _rows,
        "rows of different lengths are no tensor; fill the shorter ones with PAD first.": (
            lambda y: torch.tensor(_rows(y))
        ),
        "the sentences have moved, by one row; in each of them the words should.": (
            lambda y: _by_rows(y).masked_fill(_by_rows(y) == EOS, PAD)
        ),
        "the sentences have moved, by one row; in each the words should, and EOS goes.": _by_rows,
        "EOS comes first; a sentence begins with BOS.": _wrong(first=EOS),
        "PAD comes first; a sentence begins with BOS.": _wrong(first=PAD),
        "the words have moved to the left; what is read comes one place later.": (
            lambda y: torch.cat([y[:, 1:], torch.full_like(y[:, :1], PAD)], dim=1)
        ),
        "the words have moved to the left, and the first comes last.": lambda y: y.roll(-1, 1),
    },
    cases=[
        (pad([[5, 6, EOS], [7, EOS]]),),
        (pad([[7, 8, 9, 4, EOS], [6, EOS], [5, 5, 8, EOS]]),),
        (pad([[4, EOS], [9, UNK, 6, EOS], [EOS], [8, 7, EOS], [6, EOS]]),),
        (pad([[9, 4, 8, EOS], [6, 7, 5, EOS]]),),
    ],
    whole=True,
)

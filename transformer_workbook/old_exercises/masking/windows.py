"""Masking: windows that slide along a sentence."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.tokens import BOS, EOS, PAD
from transformer_workbook.judge.exercises import Exercise


def _window_mask(ids: Int[Tensor, "batch time"], width: int) -> Bool[Tensor, "batch 1 time time"]:
    """The causal window mask of a batch: each place sees width places, and no padding."""
    places = range(ids.size(1))
    return torch.tensor(
        [
            [[[q - width < k <= q and sentence[k] != PAD for k in places] for q in places]]
            for sentence in ids
        ]
    )


def _words(ids: Tensor) -> Tensor:
    return (ids != PAD)[:, None, None]


def _wrong(
    near: Callable[[Tensor, int], Tensor] = lambda back, width: (back >= 0) & (back < width),
    words: Callable[[Tensor], Tensor] = _words,
    join: Callable[[Tensor, Tensor], Tensor] = torch.logical_and,
    last: Callable[[Tensor], Tensor] = lambda mask: mask,
) -> Callable[[Tensor, int], Tensor]:
    """The mask with another window, of the query's place less the key's, or another last step."""

    def mask(ids: Tensor, width: int) -> Tensor:
        place = torch.arange(ids.size(1))
        return last(join(words(ids), near(place[:, None] - place, width)))

    return mask


window_mask = Exercise(
    reference=_window_mask,
    given={
        "the windows have one place too many: width counts the query itself.": (
            _wrong(lambda back, width: (back >= 0) & (back <= width))
        ),
        "the windows have one place too few: width counts the query itself.": (
            _wrong(lambda back, width: (back >= 0) & (back < width - 1))
        ),
        "a place does not see itself here; its window begins with it.": (
            _wrong(lambda back, width: (back > 0) & (back <= width))
        ),
        "a place does not see itself here; it is one of the width places.": (
            _wrong(lambda back, width: (back > 0) & (back < width))
        ),
        "the windows reach to both sides; the future is to be hidden.": (
            _wrong(lambda back, width: back.abs() < width)
        ),
        "the whole future is seen: the window needs an end on the right, too.": (
            _wrong(lambda back, width: back < width)
        ),
        "the windows are turned round: a place sees what follows.": (
            _wrong(lambda back, width: (back <= 0) & (back > -width))
        ),
        "the windows reach to both sides, and have one place too many.": (
            _wrong(lambda back, width: back.abs() <= width)
        ),
        "the window is halved to both sides; it lies in the past.": (
            _wrong(lambda back, width: back.abs() <= width // 2)
        ),
        "the whole future is seen, and the windows have one place too many.": (
            _wrong(lambda back, width: back <= width)
        ),
        "the windows are turned round, and have one place too many.": (
            _wrong(lambda back, width: (back <= 0) & (back >= -width))
        ),
        "the windows are turned round, and a place does not see itself.": (
            _wrong(lambda back, width: (back < 0) & (back >= -width))
        ),
        "only the place itself and the farthest of the window are seen.": (
            _wrong(lambda back, width: (back == 0) | (back == width - 1))
        ),
        "only the farthest place of the window is seen.": (
            _wrong(lambda back, width: back == width - 1)
        ),
        "the first width places are seen by all; a window moves with the query.": (
            lambda ids, width: _window_mask(ids, ids.size(1)) & (torch.arange(ids.size(1)) < width)
        ),
        "every word is seen, past and future: only the padding is hidden.": (
            _wrong(lambda back, width: torch.ones_like(back) == 1)
        ),
        "window and padding mask exclude each other: a key must be a word, and in the window.": (
            _wrong(join=torch.logical_xor)
        ),
        "only padding is seen: PAD is what must be hidden.": (
            _wrong(words=lambda ids: ~_words(ids))
        ),
        "BOS is hidden too; it is a token like the others, only PAD is not.": (
            _wrong(words=lambda ids: _words(ids) & (ids != BOS)[:, None, None])
        ),
        "BOS and EOS are hidden too; they are tokens like the others, only PAD is not.": (
            _wrong(words=lambda ids: (ids > EOS)[:, None, None])
        ),
        "these are 0 and −∞, to be added to scores; a mask holds True and False.": _wrong(
            last=lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
        ),
        "places that see nothing see themselves here; rows of padding are as the others.": _wrong(
            last=lambda mask: mask | (~mask.any(-1, True) & (torch.eye(mask.size(-1)) == 1))
        ),
        "places that see nothing see everything here; rows of padding are as the others.": _wrong(
            last=lambda mask: mask | ~mask.any(-1, True)
        ),
        "the window is missing: the whole past is seen.": _wrong(lambda back, width: back >= 0),
        "what lies behind the window is seen, and the window is not.": (
            _wrong(lambda back, width: back >= width)
        ),
        "& comes before < and >=: put each comparison into brackets.": _wrong(
            join=torch.bitwise_and,
            near=lambda back, width: (back >= 0) & back < width,
        ),
        "padding is seen.": _wrong(words=lambda ids: torch.ones_like(_words(ids))),
        "the rows of padding are hidden; its columns are what must not be seen.": (
            _wrong(words=lambda ids: _words(ids).mT)
        ),
        "the rows of padding are hidden too; its columns are enough.": (
            _wrong(words=lambda ids: _words(ids) & _words(ids).mT)
        ),
        "the words are taken to come first in each row; these sentences are padded on the left.": (
            _wrong(
                words=lambda ids: (torch.arange(ids.size(1)) < (ids != PAD).sum(1, True))[
                    :, None, None
                ]
            )
        ),
        "every place sees itself here, padding too; no place may see padding.": (
            _wrong(last=lambda mask: mask | (torch.eye(mask.size(-1)) == 1))
        ),
        "EOS is hidden too; it is a token like the others, only PAD is not.": (
            _wrong(words=lambda ids: _words(ids) & (ids != EOS)[:, None, None])
        ),
        "this is `or`: a key must be a word, and in the window.": _wrong(join=torch.logical_or),
        "the mask is inverted: True means may attend.": _wrong(last=torch.logical_not),
        "these are numbers; a mask holds True and False.": _wrong(last=Tensor.int),
        "the axis of the heads is missing: (batch, 1, time, time).": (
            _wrong(last=lambda mask: mask[:, 0])
        ),
        "rows and columns are swapped: a row belongs to a query.": _wrong(last=lambda m: m.mT),
    },
    cases=[
        (pad([[1, 6, 5, 2], [1, 7]]), 2),
        (pad([[1, 8, 2], [9, 8, 7, 6, 2], [1, 3, 4, 2]]), 3),
        (pad([[1, 6, 5, 4, 9, 3], [7, 2, 8, 1]]).flip(1), 4),  # padded on the left
        (pad([[5, 2], [5, 6, 2]]), 1),
    ],
)

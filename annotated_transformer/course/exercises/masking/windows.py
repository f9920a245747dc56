"""Masking: windows that slide along a sentence."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.questions import Question, by_number
from annotated_transformer.tokens import EOS, PAD


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
    mistakes={
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


LAYERS, WIDTH = 3, 5


@functools.cache
def _reach(layers: int = LAYERS, width: int = WIDTH) -> int:
    """How many places back a layer above others sees, each of them through a window."""
    back = torch.arange(100)[:, None] - torch.arange(100)
    window = ((back >= 0) & (back < width)).double()
    seen = torch.linalg.matrix_power(window, layers)[-1]
    return int(back[-1, seen > 0].max())


@Question
def far_reach(answer: Any) -> str:
    """How many places back do three layers see, each through a window of five?"""
    return by_number(
        answer,
        _reach(),
        {
            LAYERS * WIDTH: "each layer reaches less far back: its window holds the place itself.",
            _reach() + 1: "these are all places that are seen; how many places back is the first?",
            _reach(layers=1): "this is the reach of one layer; what it reads has read others.",
            WIDTH: "this is the window of one layer; what it reads has read others.",
            _reach(layers=2): "this is the reach of two layers.",
            WIDTH**LAYERS: "the reach grows by the same number of places in every layer.",
            _reach(layers=1) ** LAYERS: "the reach grows by the same number in every layer.",
        },
    )

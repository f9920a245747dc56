"""Cross-attention: its mask and its shapes."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.tokens import PAD

Shape = tuple[int, ...]


def _cross_shapes(batch: int, src: int, tgt: int, d_model: int, num_heads: int) -> list[Shape]:
    """Give the shapes of the split queries, the split keys, the scores and the output."""
    d_k = d_model // num_heads
    query = (batch, num_heads, tgt, d_k)
    key = (batch, num_heads, src, d_k)
    return [query, key, (batch, num_heads, tgt, src), (batch, tgt, d_model)]


def _but(**wrong: Callable[..., Shape]) -> Callable[..., list[Shape]]:
    """The right shapes, but for some."""

    def shapes(*sizes: int) -> list[Shape]:
        names = ("query", "key", "scores", "output")
        right = dict(zip(names, _cross_shapes(*sizes), strict=True))
        return list((right | {name: shape(*sizes) for name, shape in wrong.items()}).values())

    return shapes


cross_shapes = Exercise(
    reference=_cross_shapes,
    mistakes={
        "source and target are swapped: the target asks, the source is asked.": (
            lambda b, s, t, d, h: _cross_shapes(b, t, s, d, h)
        ),
        "queries and keys are swapped: the queries come from the target.": _but(
            query=lambda b, s, t, d, h: (b, h, s, d // h),
            key=lambda b, s, t, d, h: (b, h, t, d // h),
        ),
        "the heads stand before the positions: (batch, heads, positions, d_k).": _but(
            query=lambda b, s, t, d, h: (b, t, h, d // h),
            key=lambda b, s, t, d, h: (b, s, h, d // h),
        ),
        "the scores are target × source: a row for each query, a column for each key.": _but(
            scores=lambda b, s, t, d, h: (b, h, s, t)
        ),
        "the keys come from the memory: there is one for each source word.": _but(
            key=lambda b, s, t, d, h: (b, h, t, d // h),
            scores=lambda b, s, t, d, h: (b, h, t, t),
        ),
        "there is one key for each source word; these keys are as many as the queries.": _but(
            key=lambda b, s, t, d, h: (b, h, t, d // h)
        ),
        "the output has one vector for each query, so for each target position.": _but(
            output=lambda b, s, t, d, h: (b, s, d)
        ),
        "a head has d_model / num_heads numbers, not d_model.": _but(
            query=lambda b, s, t, d, h: (b, h, t, d), key=lambda b, s, t, d, h: (b, h, s, d)
        ),
        "the heads are missing: split, there is one vector for each head and position.": _but(
            query=lambda b, s, t, d, h: (b, t, d),
            key=lambda b, s, t, d, h: (b, s, d),
            scores=lambda b, s, t, d, h: (b, t, s),
        ),
        "the heads are missing in the scores: every head has a table of its own.": _but(
            scores=lambda b, s, t, d, h: (b, t, s)
        ),
        "the output is that of all heads, merged back to d_model numbers.": _but(
            output=lambda b, s, t, d, h: (b, h, t, d // h)
        ),
        "the output has d_model numbers; d_k is the width of one head.": _but(
            output=lambda b, s, t, d, h: (b, t, d // h)
        ),
        "the keys are not transposed: split, they have the same axes as the queries.": _but(
            key=lambda b, s, t, d, h: (b, h, d // h, s)
        ),
    },
    cases=[(2, 3, 4, 10, 5), (3, 7, 5, 12, 2), (5, 2, 6, 28, 7)],
)


def _cross_mask(
    src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
) -> Bool[Tensor, "batch 1 tgt src"]:
    """Write the mask of cross-attention, with a row for every target position."""
    return (src != PAD)[:, None, None].expand(-1, -1, tgt_in.size(1), -1)


_mask = _cross_mask  # a row for each of the second, their keys the first

cross_mask = Exercise(
    reference=_cross_mask,
    mistakes={
        "True must mean may attend; here it marks the padding.": lambda s, t: ~_mask(s, t),
        "there is one row only; write it out for every target position.": (
            lambda s, t: _mask(s, t)[:, :, :1]
        ),
        "the axis of the heads is missing: (batch, 1, target, source).": (
            lambda s, t: _mask(s, t)[:, 0]
        ),
        "one row, and no axis of the heads: (batch, 1, target, source) is asked for.": (
            lambda s, t: _mask(s, t)[:, 0, :1]
        ),
        "later source words are hidden, too; the whole source is known, so all may be seen.": (
            lambda s, t: _mask(s, t).tril()
        ),
        "the rows of target padding are empty; a mask hides keys, and the keys are the source.": (
            lambda s, t: _mask(s, t) & _mask(t, s).mT
        ),
        "this hides the padding of the target; the keys are the source.": (
            lambda s, t: _mask(t, s).mT
        ),
        "this is the padding mask of the target; the keys are the source.": (
            lambda s, t: _mask(t, t)
        ),
        "this is one row, of the target's padding; the keys are the source.": (
            lambda s, t: _mask(t, t)[:, :, :1]
        ),
        "rows are target and columns are source; here it is the other way round.": (
            lambda s, t: _mask(s, t).mT
        ),
        "source and target are swapped: the target asks, the source is asked.": (
            lambda s, t: _mask(t, s)
        ),
        "the keys are the source; this is the mask of the decoder's self-attention.": (
            lambda s, t: _mask(t, t).tril()
        ),
        "this is the mask of the encoder's self-attention: the rows are source words.": (
            lambda s, t: _mask(s, s)
        ),
        "everything is allowed: the padding of the source must be hidden.": (
            lambda s, t: torch.ones_like(_mask(s, t))
        ),
    },
    cases=[
        (
            torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]),
            torch.tensor([[1, 9, 0], [1, 7, 8]]),
        ),
        (
            torch.tensor([[5, 2, 0, 0, 0], [4, 6, 7, 8, 2], [3, 9, 2, 0, 0]]),
            torch.tensor([[1, 4, 5, 6, 7, 8], [1, 3, 5, 0, 0, 0], [1, 9, 0, 0, 0, 0]]),
        ),
    ],
)

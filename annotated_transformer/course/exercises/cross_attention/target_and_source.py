"""Cross-attention: its mask, its shapes, and its work."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.tokens import PAD


def _cross_mask(
    src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
) -> Bool[Tensor, "batch 1 tgt src"]:
    return (src != PAD)[:, None, None].expand(-1, -1, tgt_in.size(1), -1)


def _rows_and_columns(src: Tensor, tgt_in: Tensor) -> Tensor:
    return _cross_mask(src, tgt_in) & (tgt_in != PAD)[:, None, :, None]


cross_mask = Exercise(
    reference=_cross_mask,
    mistakes={
        "True must mean may attend; you mark the padding.": lambda s, t: ~_cross_mask(s, t),
        "you hide the later source words too; the whole source is known, so nothing is hidden.": (
            lambda s, t: _cross_mask(s, t).tril()
        ),
        "the rows of target padding are empty; a mask hides keys, and the keys are the source.": (
            _rows_and_columns
        ),
        "you mask the padding of the target; the keys are the source.": (
            lambda s, t: (t != PAD)[:, None, :, None].expand(-1, -1, -1, s.size(1))
        ),
        "this is the padding mask of the target; the keys are the source.": (
            lambda s, t: (t != PAD)[:, None, None].expand(-1, -1, t.size(1), -1)
        ),
        "this is one row, of the target's padding; the keys are the source.": (
            lambda s, t: (t != PAD)[:, None, None]
        ),
        "rows are target and columns are source; yours is turned round.": (
            lambda s, t: _cross_mask(s, t).mT
        ),
        "the keys are the source; this is the mask of the decoder's self-attention.": (
            lambda s, t: (t != PAD)[:, None, None].expand(-1, -1, t.size(1), -1).tril()
        ),
        "this is the mask of the encoder's self-attention: the rows are source words.": (
            lambda s, t: _cross_mask(s, s)
        ),
        "there is one row only; write it out for every target position.": (
            lambda s, t: (s != PAD)[:, None, None]
        ),
        "the axis of the heads is missing: (batch, 1, target, source).": (
            lambda s, t: _cross_mask(s, t)[:, 0]
        ),
        "everything is allowed: the padding of the source must be hidden.": (
            lambda s, t: torch.ones_like(_cross_mask(s, t))
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


def _cross_shapes(
    batch: int, src: int, tgt: int, d_model: int, num_heads: int
) -> list[tuple[int, ...]]:
    d_k = d_model // num_heads
    query = (batch, num_heads, tgt, d_k)
    key = (batch, num_heads, src, d_k)
    return [query, key, (batch, num_heads, tgt, src), (batch, tgt, d_model)]


cross_shapes = Exercise(
    reference=_cross_shapes,
    mistakes={
        "source and target are swapped: the target asks, the source is asked.": (
            lambda b, s, t, d, h: _cross_shapes(b, t, s, d, h)
        ),
        "queries and keys are swapped: the queries come from the target.": (
            lambda b, s, t, d, h: [
                *_cross_shapes(b, t, s, d, h)[:2],
                *_cross_shapes(b, s, t, d, h)[2:],
            ]
        ),
        "the heads stand before the positions: (batch, heads, positions, d_k).": (
            lambda b, s, t, d, h: [
                (b, t, h, d // h),
                (b, s, h, d // h),
                *_cross_shapes(b, s, t, d, h)[2:],
            ]
        ),
        "the scores are target × source: a row for each query, a column for each key.": (
            lambda b, s, t, d, h: [*_cross_shapes(b, s, t, d, h)[:2], (b, h, s, t), (b, t, d)]
        ),
        "the keys come from the memory: there is one for each source word.": (
            lambda b, s, t, d, h: _cross_shapes(b, t, t, d, h)
        ),
        "the output has one vector for each query, so for each target position.": (
            lambda b, s, t, d, h: [*_cross_shapes(b, s, t, d, h)[:3], (b, s, d)]
        ),
        "a head has d_model / num_heads numbers, not d_model.": (
            lambda b, s, t, d, h: [(b, h, t, d), (b, h, s, d), (b, h, t, s), (b, t, d)]
        ),
        "the heads are missing in the scores: every head has a table of its own.": (
            lambda b, s, t, d, h: [*_cross_shapes(b, s, t, d, h)[:2], (b, t, s), (b, t, d)]
        ),
        "the output is that of all heads, merged back to d_model numbers.": (
            lambda b, s, t, d, h: [*_cross_shapes(b, s, t, d, h)[:3], (b, h, t, d // h)]
        ),
    },
    cases=[(2, 3, 4, 10, 5), (3, 7, 5, 12, 2), (5, 2, 6, 28, 7)],
)


def _projection_operations(src: int, tgt: int, d_model: int) -> list[int]:
    once = 2 * (2 * src * d_model**2)
    return [tgt * once, once]


projection_operations = Exercise(
    reference=_projection_operations,
    mistakes={
        "this is half of it: additions count too, and the values are projected like the keys.": (
            lambda s, t, d: [2 * t * s * d * d, 2 * s * d * d]
        ),
        "you swapped the two: first at every step, then once.": (
            lambda s, t, d: [4 * s * d * d, 4 * t * s * d * d]
        ),
        "at every step means once for each of the tgt steps.": (
            lambda s, t, d: [4 * s * d * d, 4 * s * d * d]
        ),
        "projected once means once for all tgt steps: the second number has no tgt in it.": (
            lambda s, t, d: [4 * t * s * d * d, 4 * t * s * d * d]
        ),
        "src is missing: every vector of the memory is projected.": (
            lambda s, t, d: [4 * t * d * d, 4 * d * d]
        ),
        "each step projects the memory once; you count once more at each further step.": (
            lambda s, t, d: [2 * t * (t + 1) * s * d * d, 4 * s * d * d]
        ),
        "it is the memory that is projected: src vectors, not tgt.": (
            lambda s, t, d: [4 * t * t * d * d, 4 * t * d * d]
        ),
        "the source does not grow from step to step; growing keys belong to self-attention.": (
            lambda s, t, d: [2 * t * (t + 1) * d * d, 4 * s * d * d]
        ),
        "each number of a projected vector is a sum of d_model products: d_model² for a vector.": (
            lambda s, t, d: [4 * t * s * d, 4 * s * d]
        ),
        "you count queries and output too; only the keys and the values are asked for.": (
            lambda s, t, d: [4 * (s + 1) * t * d * d, 4 * (s + t) * d * d]
        ),
    },
    cases=[(3, 4, 5), (7, 2, 6), (5, 6, 2)],
)

"""Cross-attention: its shapes."""

from collections.abc import Callable

from transformer_workbook.judge.exercises import Exercise

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
    given={
        "source and target are swapped: the target asks, the source is asked.": (
            lambda b, s, t, d, h: _cross_shapes(b, t, s, d, h)
        ),
        "these are the shapes of the example, whatever the sizes are.": (
            lambda *sizes: _cross_shapes(2, 3, 4, 10, 5)
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
        "a head's numbers stand before the positions: (batch, heads, positions, d_k).": _but(
            query=lambda b, s, t, d, h: (b, h, d // h, t),
            key=lambda b, s, t, d, h: (b, h, d // h, s),
        ),
        "num_heads and d_k are swapped: (batch, heads, positions, d_k).": _but(
            query=lambda b, s, t, d, h: (b, d // h, t, h),
            key=lambda b, s, t, d, h: (b, d // h, s, h),
        ),
        "num_heads and d_k are swapped, in the scores too.": _but(
            query=lambda b, s, t, d, h: (b, d // h, t, h),
            key=lambda b, s, t, d, h: (b, d // h, s, h),
            scores=lambda b, s, t, d, h: (b, d // h, t, s),
        ),
        "queries and keys are not split; the heads have their own.": _but(
            query=lambda b, s, t, d, h: (b, t, d), key=lambda b, s, t, d, h: (b, s, d)
        ),
        "the queries are as many as the source's words; the target asks.": _but(
            query=lambda b, s, t, d, h: (b, h, s, d // h)
        ),
        "queries and scores have a row for each source word; the target asks.": _but(
            query=lambda b, s, t, d, h: (b, h, s, d // h),
            scores=lambda b, s, t, d, h: (b, h, s, s),
        ),
        "all four belong to self-attention of the source; the queries come from the target.": (
            lambda b, s, t, d, h: _cross_shapes(b, s, s, d, h)
        ),
        "the scores are target × target; their columns are source words.": _but(
            scores=lambda b, s, t, d, h: (b, h, t, t)
        ),
        "the scores are source × source; their rows are target words.": _but(
            scores=lambda b, s, t, d, h: (b, h, s, s)
        ),
        "scores and output have the source's words as rows; the target asks.": _but(
            scores=lambda b, s, t, d, h: (b, h, s, t), output=lambda b, s, t, d, h: (b, s, d)
        ),
        "the scores end in d_k; a score belongs to a query and a key.": _but(
            scores=lambda b, s, t, d, h: (b, h, t, d // h)
        ),
        "the heads are the last axis of the scores; they come after the batch.": _but(
            scores=lambda b, s, t, d, h: (b, t, s, h)
        ),
        "the output is not merged, and its heads stand after the positions.": _but(
            output=lambda b, s, t, d, h: (b, t, h, d // h)
        ),
        "the output has one number for each source word; it has d_model.": _but(
            output=lambda b, s, t, d, h: (b, t, s)
        ),
        "batch and heads are one axis here; keep both.": (
            lambda b, s, t, d, h: [(b * h, t, d // h), (b * h, s, d // h), (b * h, t, s), (b, t, d)]
        ),
        "the batch is missing: its size comes first everywhere.": (
            lambda *sizes: [shape[1:] for shape in _cross_shapes(*sizes)]
        ),
        "d_k is d_model here, and in the output d_model times the heads.": _but(
            query=lambda b, s, t, d, h: (b, h, t, d),
            key=lambda b, s, t, d, h: (b, h, s, d),
            output=lambda b, s, t, d, h: (b, t, d * h),
        ),
        "the keys are not transposed: split, they have the same axes as the queries.": _but(
            key=lambda b, s, t, d, h: (b, h, d // h, s)
        ),
    },
    cases=[(2, 3, 4, 10, 5), (3, 7, 5, 12, 2), (5, 2, 6, 28, 7)],
)

"""Multi-head attention: the way into the heads, and out of them."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.luong.lookups import ROW_WEIGHINGS, Weigh

NARROW = torch.float32


def _merge_heads(x: Float[Tensor, "batch heads time d"]) -> Float[Tensor, "batch time width"]:
    return x.transpose(1, 2).flatten(2)


def _split_heads(
    x: Float[Tensor, "batch time width"], num_heads: int
) -> Float[Tensor, "batch heads time d"]:
    batch, time, width = x.shape
    return x.view(batch, time, num_heads, width // num_heads).transpose(1, 2)


def _cut(x: Tensor, *sizes: int) -> Tensor:
    return x.reshape(len(x), *sizes)


def _attend_in_heads(
    query: Float[Tensor, "batch time keys"],
    key: Float[Tensor, "batch time keys"],
    value: Float[Tensor, "batch time values"],
    num_heads: int,
) -> Float[Tensor, "batch time values"]:
    """Attend in every head, and put the results side by side."""
    query, key, value = (_split_heads(x, num_heads) for x in (query, key, value))
    scores = query @ key.transpose(2, 3) / math.sqrt(query.size(3))
    return _merge_heads(scores.softmax(dim=3) @ value)


Split = Callable[[Tensor, int], Tensor]


def _wrong(
    split: Split = _split_heads,
    merge: Callable[[Tensor], Tensor] = _merge_heads,
    weigh: Weigh = lambda e: e.softmax(3),
    width: Callable[[Tensor, int], float] = lambda query, h: query.size(2) // h,
    **others: Split,
) -> Callable[..., Tensor]:
    """The same with another split, merge, softmax or width under the root.

    ``others`` are the splits of queries, keys or values where they differ.
    """
    ways = [others.get(name, split) for name in ("queries", "keys", "values")]

    def attend(query: Tensor, key: Tensor, value: Tensor, h: int) -> Tensor:
        q, k, v = (way(x, h) for way, x in zip(ways, (query, key, value), strict=True))
        return merge(weigh(q @ k.mT / width(query, h) ** 0.5) @ v)

    return attend


def _blind_split(x: Tensor, h: int) -> Tensor:
    return _cut(x, h, x.size(1), -1)


def _dealt(x: Tensor, h: int) -> Tensor:
    return _cut(x, x.size(1), -1, h).permute(0, 3, 1, 2)


def _blind_merge(x: Tensor) -> Tensor:
    return _cut(x, x.size(2), -1)


def _attend_among_heads(query: Tensor, key: Tensor, value: Tensor, h: int) -> Tensor:
    query, key, value = (_cut(x, x.size(1), h, -1) for x in (query, key, value))
    scores = query @ key.mT / math.sqrt(query.size(3))
    return (scores.softmax(3) @ value).flatten(2)


def _projected(
    batch: int, time: int, keys: int, values: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, ...]:
    widths = enumerate([keys, keys, values])
    return tuple(normal(batch, time, d, seed=time + i, dtype=dtype) for i, d in widths)


def _half_mended() -> dict[str, Callable[..., Tensor]]:
    """One or two of the three cuts mix positions, and perhaps the merge."""
    parts, mended = ("queries", "keys", "values"), {}
    for some in itertools.chain(*(itertools.combinations(parts, n) for n in (1, 2))):
        said = f"the {' and the '.join(some)} still mix positions: transpose after the cut"
        blind: dict[str, Any] = dict.fromkeys(some, _blind_split)
        mended[f"{said}."] = _wrong(**blind)
        mended[f"{said}; the merge mixes them, too."] = _wrong(merge=_blind_merge, **blind)
    return mended


attend_in_heads = Exercise(
    reference=_attend_in_heads,
    given={
        "two mistakes are left: the split mixes positions, and so does the merge.": (
            _wrong(_blind_split, _blind_merge)
        ),
        "the merge is right, the split still mixes positions: cut the last axis, then transpose.": (
            _wrong(_blind_split)
        ),
        "the split is right, the merge still mixes positions: transpose before you join.": (
            _wrong(merge=_blind_merge)
        ),
        **_half_mended(),
        "the heads of a position attend to each other, and no position to another.": (
            _attend_among_heads
        ),
        "the divisor is the root of the full width; a head's scores have d_k terms.": (
            _wrong(width=lambda query, h: query.size(2))
        ),
        "the divisor is the root of the number of heads; a head's scores have d_k terms.": (
            _wrong(width=lambda query, h: h)
        ),
        "the factor is missing: divide the scores by √d_k.": _wrong(width=lambda query, h: 1),
        "the softmax goes over the heads; each head shares out a 1 of its own.": _wrong(
            weigh=lambda e: e.softmax(1)
        ),
        "this is one head of full width.": lambda q, k, v, h: _wrong()(q, k, v, 1),
        "the divisor is d_k itself; its root is asked for.": (
            _wrong(width=lambda query, h: (query.size(2) // h) ** 2)
        ),
        "the heads are added up; put them side by side.": (
            _wrong(merge=lambda heads: heads.sum(1))
        ),
        "the heads are averaged; put them side by side.": (
            _wrong(merge=lambda heads: heads.mean(1))
        ),
        "the result still has an axis for the heads.": _wrong(merge=lambda heads: heads),
        "the result still has an axis for the heads; join the last two.": (
            _wrong(merge=lambda heads: heads.transpose(1, 2))
        ),
        "the heads are one after the other along the positions; join them with the last axis.": (
            _wrong(merge=lambda heads: heads.flatten(1, 2))
        ),
        "the numbers of the heads take turns; those of a head stay side by side.": (
            _wrong(merge=lambda heads: heads.permute(0, 2, 3, 1).flatten(2))
        ),
        "the split deals the numbers out in turns; those of a head stand side by side.": (
            _wrong(_dealt)
        ),
        "positions and numbers change places on the way out.": (
            _wrong(merge=lambda heads: heads.mT.reshape(len(heads), heads.size(2), -1))
        ),
        "the heads are in reverse order.": _wrong(merge=lambda heads: _merge_heads(heads.flip(1))),
        "the heads are dealt out in turns on both ways; those of a head stand side by side.": (
            _wrong(_dealt, lambda heads: heads.permute(0, 2, 3, 1).flatten(2))
        ),
        "the axes of words and numbers are swapped before the cut: rows mix the words.": (
            _wrong(lambda x, h: x.mT.reshape(len(x), h, x.size(1), -1))
        ),
        "sentences and heads change places on the way out.": (
            _wrong(merge=lambda heads: _merge_heads(heads.transpose(0, 1).reshape(heads.shape)))
        ),
        **{sentence: _wrong(weigh=weigh) for sentence, weigh in ROW_WEIGHINGS.items()},
        "the divisor is the root of the number of positions; a head's scores have d_k terms.": (
            _wrong(width=lambda query, h: query.size(1))
        ),
        "the scores are multiplied by √d_k; divide by it.": (
            _wrong(width=lambda query, h: h / query.size(2))
        ),
        "the softmax goes over the batch; a sentence has nothing to do with another.": (
            _wrong(weigh=lambda e: e.softmax(0))
        ),
        "queries and keys are swapped.": lambda q, k, v, h: _attend_in_heads(k, q, v, h),
        "the division comes after the softmax; then the weights sum to 1/√d_k.": (
            lambda q, k, v, h: _wrong(width=lambda q, h: 1)(q, k, v, h) / (q.size(2) // h) ** 0.5
        ),
        "the divisor is √d_v; a head's scores have d_k terms.": (
            lambda q, k, v, h: _wrong(width=lambda q, h: v.size(2) // h)(q, k, v, h)
        ),
    },
    cases=[
        (*_projected(5, 3, 8, 12), 4),
        (*_projected(3, 5, 6, 8, dtype=NARROW), 2),
        (*_projected(2, 4, 6, 9), 3),
    ],
)

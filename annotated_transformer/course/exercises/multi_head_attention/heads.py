"""Multi-head attention: the way into the heads, and out of them."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import (
    normal,
    random_cases,
)

NARROW = torch.float32


def _merge_heads(x: Float[Tensor, "batch heads time d"]) -> Float[Tensor, "batch time width"]:
    return x.transpose(1, 2).flatten(2)


merge_heads = Exercise(
    reference=_merge_heads,
    mistakes={
        "the shape is right, but a row mixes positions: bring them before the heads first.": (
            lambda x: x.reshape(x.size(0), x.size(2), -1)
        ),
        "you join the heads with the positions; join them with the last axis.": (
            lambda x: x.flatten(1, 2)
        ),
        "the heads stand before the positions; each position needs the numbers of all heads.": (
            lambda x: x.flatten(1)
        ),
        "the heads are still an axis of their own: join the last two.": lambda x: x.transpose(1, 2),
        "you take turns between the heads; the numbers of a head stay side by side.": (
            lambda x: x.permute(0, 2, 3, 1).flatten(2)
        ),
        "you add the heads; put them side by side.": lambda x: x.sum(1),
        "you take the mean of the heads; put them side by side.": lambda x: x.mean(1),
        "you keep the first head only.": lambda x: x[:, 0],
        "the heads are in reverse order.": lambda x: x.flip(1).transpose(1, 2).flatten(2),
        "you turn the last two axes round before you join them.": (
            lambda x: x.transpose(2, 3).reshape(x.size(0), x.size(2), -1)
        ),
    },
    cases=random_cases("batch heads time d"),
)


def _split_heads(
    x: Float[Tensor, "batch time width"], num_heads: int
) -> Float[Tensor, "batch heads time d"]:
    batch, time, width = x.shape
    return x.view(batch, time, num_heads, width // num_heads).transpose(1, 2)


def _cut(x: Tensor, *sizes: int) -> Tensor:
    return x.reshape(len(x), *sizes)


split_heads = Exercise(
    reference=_split_heads,
    mistakes={
        "the shape is right, but the positions are mixed: cut the last axis, then transpose.": (
            lambda x, h: _cut(x, h, x.size(1), -1)
        ),
        "the transpose is missing: heads come before positions.": (
            lambda x, h: _cut(x, x.size(1), h, -1)
        ),
        "you cut the last axis into d heads of h numbers: heads first, then their width.": (
            lambda x, h: _cut(x, x.size(1), -1, h).transpose(1, 2)
        ),
        "you deal the numbers out in turns; a head gets numbers that stand side by side.": (
            lambda x, h: _cut(x, x.size(1), -1, h).permute(0, 3, 1, 2)
        ),
        "you transpose before you cut, and then the cut goes through the positions.": (
            lambda x, h: _cut(x.transpose(1, 2), h, x.size(1), -1)
        ),
        "positions and d are swapped: (batch, heads, time, d) is asked for.": (
            lambda x, h: _cut(x, x.size(1), h, -1).permute(0, 2, 3, 1)
        ),
        "the heads stand before the batch: (batch, heads, time, d) is asked for.": (
            lambda x, h: _cut(x, x.size(1), h, -1).permute(2, 0, 1, 3)
        ),
        "every head gets all the numbers; it should get its own part of them.": (
            lambda x, h: x[:, None].expand(-1, h, -1, -1)
        ),
        "this is the first head only.": lambda x, h: x[..., : x.size(2) // h],
    },
    cases=[
        (normal(5, 3, 8, seed=0), 4),
        (normal(4, 5, 6, seed=1, dtype=NARROW), 2),
        (normal(5, 4, 6, seed=2), 3),
    ],
)


def _attend_in_heads(
    query: Float[Tensor, "batch time keys"],
    key: Float[Tensor, "batch time keys"],
    value: Float[Tensor, "batch time values"],
    num_heads: int,
) -> Float[Tensor, "batch time values"]:
    query, key, value = (_split_heads(x, num_heads) for x in (query, key, value))
    scores = query @ key.transpose(2, 3) / math.sqrt(query.size(3))
    return _merge_heads(scores.softmax(dim=3) @ value)


def _wrong(
    split: Callable[[Tensor, int], Tensor] = _split_heads,
    merge: Callable[[Tensor], Tensor] = _merge_heads,
    dim: int = 3,
    width: Callable[[Tensor, int], int] = lambda query, h: query.size(2) // h,
) -> Callable[..., Tensor]:
    """The same with another split, merge, axis of the softmax or width under the root."""

    def attend(query: Tensor, key: Tensor, value: Tensor, h: int) -> Tensor:
        scores = split(query, h) @ split(key, h).mT / width(query, h) ** 0.5
        return merge(scores.softmax(dim) @ split(value, h))

    return attend


def _blind_split(x: Tensor, h: int) -> Tensor:
    return _cut(x, h, x.size(1), -1)


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


attend_in_heads = Exercise(
    reference=_attend_in_heads,
    mistakes={
        "two mistakes are left: the split mixes positions, and so does the merge.": (
            _wrong(_blind_split, _blind_merge)
        ),
        "the merge is right, the split still mixes positions: cut the last axis, then transpose.": (
            _wrong(_blind_split)
        ),
        "the split is right, the merge still mixes positions: transpose before you join.": (
            _wrong(merge=_blind_merge)
        ),
        "without the transpose, the heads of a position attend to each other.": _attend_among_heads,
        "you divide by the root of the full width; a head's scores have d_k terms.": (
            _wrong(width=lambda query, h: query.size(2))
        ),
        "you divide by the root of the number of heads; a head's scores have d_k terms.": (
            _wrong(width=lambda query, h: h)
        ),
        "the factor is missing: divide the scores by √d_k.": _wrong(width=lambda query, h: 1),
        "the softmax goes over the queries; each query shares out 1 among the keys.": _wrong(dim=2),
        "the softmax goes over the heads; each head shares out a 1 of its own.": _wrong(dim=1),
        "this is one head of full width.": lambda q, k, v, h: _wrong()(q, k, v, 1),
    },
    cases=[
        (*_projected(5, 3, 8, 12), 4),
        (*_projected(3, 5, 6, 8, dtype=NARROW), 2),
        (*_projected(2, 4, 6, 9), 3),
    ],
)

"""Why attention: attention over blocks of keys, which never holds all the scores."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal
from annotated_transformer.course.exercises.why_attention.watching import case, in_blocks


def _block_attention(
    query: Float[Tensor, "query d_k"],
    key: Float[Tensor, "key d_k"],
    value: Float[Tensor, "key d_v"],
    width: int,
) -> Float[Tensor, "query d_v"]:
    """Compute attention over blocks of keys, without ever holding all the scores."""
    high = query.new_full((len(query), 1), -math.inf)
    total = output = torch.zeros_like(high)
    for keys, values in zip(torch.split(key, width), torch.split(value, width), strict=True):
        scores = query @ keys.T / math.sqrt(query.size(1))
        higher = torch.maximum(high, scores.amax(dim=1, keepdim=True))
        weights, shrink = (scores - higher).exp(), (high - higher).exp()
        total = total * shrink + weights.sum(dim=1, keepdim=True)
        output = output * shrink + weights @ values
        high = higher
    return output / total


def _row_maximum(scores: Tensor) -> Tensor:
    return scores.amax(dim=1, keepdim=True)


def _wrong(
    root: Callable[[int, int, int], float] = lambda d_k, d_v, width: math.sqrt(d_k),
    start: float = -math.inf,
    highest: Callable[[Tensor, Tensor], Tensor] = lambda old, s: old.maximum(_row_maximum(s)),
    shrink: Callable[[Tensor, Tensor], Tensor] = lambda old, new: (old - new).exp(),
    base: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda old, new, s: new,
    shrinks: tuple[bool, bool] = (True, True),  # the sum, and the output
    keeps: tuple[int, int] = (1, 1),
    ends: tuple[bool, bool] = (False, True),  # divided in every block, and at the end
) -> Callable[..., Tensor]:
    """The same with another divisor, maximum, correction or end."""

    def attend(query: Tensor, key: Tensor, value: Tensor, width: int) -> Tensor:
        high = query.new_full((len(query), 1), start)
        total = output = torch.zeros_like(high)
        for keys, values in zip(torch.split(key, width), torch.split(value, width), strict=True):
            scores = query @ keys.T / root(query.size(1), value.size(1), width)
            new = highest(high, scores)
            factors = [shrink(high, new) if shrunk else 1.0 for shrunk in shrinks]
            weights, high = (scores - base(high, new, scores)).exp(), new
            total = keeps[0] * total * factors[0] + weights.sum(dim=1, keepdim=True)
            output = (keeps[1] * output * factors[1] + weights @ values) / (total if ends[0] else 1)
        return output / total if ends[1] else output

    return attend


def _each(query: Tensor, key: Tensor, value: Tensor, width: int) -> Tensor:
    """The attention to every block by itself: (blocks, query, d_v)."""
    blocks = zip(torch.split(key, width), torch.split(value, width), strict=True)
    return torch.stack([_block_attention(query, k, v, width) for k, v in blocks])


def _some(part: Callable[[int, int], slice]) -> Callable[..., Tensor]:
    """Attention to some of the keys only."""

    def attend(query: Tensor, key: Tensor, value: Tensor, width: int) -> Tensor:
        some = part(len(key), width)
        return _block_attention(query, key[some], value[some], width)

    return attend


block_attention = Exercise(
    reference=_block_attention,
    mistakes={
        "the output is right, but here are all the scores at once: go block by block.": (
            lambda q, k, v, width: (q @ k.T / math.sqrt(q.size(1))).softmax(1) @ v
        ),
        "sum and output of the earlier blocks belong to an older maximum: shrink both.": (
            _wrong(shrinks=(False, False))
        ),
        "the sum of the earlier blocks belongs to an older maximum: shrink it, too.": (
            _wrong(shrinks=(False, True))
        ),
        "the output of the earlier blocks belongs to an older maximum: shrink it, too.": (
            _wrong(shrinks=(True, False))
        ),
        "every block has a maximum of its own, so their exponentials cannot be added.": (
            _wrong(highest=lambda old, s: _row_maximum(s), shrinks=(False, False))
        ),
        "the factor must be exp(old maximum − new maximum), so at most 1.": (
            _wrong(shrink=lambda old, new: (new - old).exp())
        ),
        "this is right for small scores only: without the maximum, exp overflows.": (
            _wrong(start=0.0, highest=lambda old, s: old)
        ),
        "this overflows where a block has a lower maximum than those before: keep the highest.": (
            _wrong(highest=lambda old, s: _row_maximum(s))
        ),
        "the maximum starts at 0; where all scores are far below, nothing is left: use −∞.": (
            _wrong(start=0.0)
        ),
        "each row needs a maximum of its own; with one for all, some rows lose everything.": (
            _wrong(highest=lambda old, s: old.clamp(min=float(s.max())))
        ),
        "these are the attentions of the blocks, added up; the weights then sum to more than 1.": (
            lambda q, k, v, width: _each(q, k, v, width).sum(0)
        ),
        "this is the mean of the blocks; a block with higher scores must count more.": (
            lambda q, k, v, width: _each(q, k, v, width).mean(0)
        ),
        "this is the attention to the first block only.": _some(lambda n, width: slice(width)),
        "this is the attention to the last block only.": (
            _some(lambda n, width: slice((n - 1) // width * width, None))
        ),
        "the keys after the last full block are missing.": (
            _some(lambda n, width: slice(n // width * width))
        ),
        "the division by the sum of the weights is missing.": _wrong(ends=(False, False)),
        "the output is divided in every block; divide once, at the end.": (
            _wrong(ends=(True, False))
        ),
        "what is kept is multiplied by exp(new − old maximum), and grows; it must shrink.": (
            _wrong(shrink=lambda old, new: (new - old).exp().where(old.isfinite(), 1))
        ),
        "what a block adds belongs to its own maximum; all must belong to the highest.": (
            _wrong(base=lambda old, new, s: _row_maximum(s))
        ),
        "what a block adds is not relative to the maximum: subtract it before exp.": (
            _wrong(base=lambda old, new, s: 0 * new)
        ),
        "the sum is that of the last block; add what is kept.": _wrong(keeps=(0, 1)),
        "the output is that of the last block, over the sum of all; add what is kept.": (
            _wrong(keeps=(1, 0))
        ),
        "the factor 1/√d_k is missing.": _wrong(root=lambda d_k, d_v, width: 1),
        "the scores are divided by d_k; its root is asked for.": (
            _wrong(root=lambda d_k, d_v, width: d_k)
        ),
        "the scores are multiplied by √d_k; divide by it.": (
            _wrong(root=lambda d_k, d_v, width: d_k**-0.5)
        ),
        "the scores are divided by the root of d_v, the width of the values.": (
            _wrong(root=lambda d_k, d_v, width: math.sqrt(d_v))
        ),
        "the scores are divided by the root of the width of a block.": (
            _wrong(root=lambda d_k, d_v, width: math.sqrt(width))
        ),
        "the output is divided by √d_k; the scores must be.": (
            lambda q, k, v, width: (
                _wrong(root=lambda d_k, d_v, width: 1)(q, k, v, width) / math.sqrt(q.size(1))
            )
        ),
    },
    cases=[
        case(3, 7, 2, 4, 3, seed=0),
        case(5, 8, 4, 3, 4, seed=3, dtype=torch.float32),
        case(2, 6, 3, 5, 1, seed=6),
        case(4, 11, 3, 2, 5, seed=9, dtype=torch.float32, times=40),
        (
            600 + 200 * normal(3, 2, seed=12),
            normal(5, 2, seed=13) - 5,
            normal(5, 4, seed=14),
            2,
        ),
    ],
    ask=in_blocks,
)

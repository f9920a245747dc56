"""Why attention: attention over blocks of keys, which never holds all the scores."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.why_attention.streaming import (
    row_maximum,
    streamed,
)
from transformer_workbook.old_exercises.why_attention.watching import case, in_blocks


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


def _each(query: Tensor, key: Tensor, value: Tensor, width: int) -> Tensor:
    """The attention to every block by itself: (blocks, query, d_v)."""
    blocks = zip(torch.split(key, width), torch.split(value, width), strict=True)
    return torch.stack([_block_attention(query, k, v, width) for k, v in blocks])


def _by_widths(query: Tensor, key: Tensor, value: Tensor, width: int) -> Tensor:
    sizes = torch.tensor([len(block) for block in torch.split(key, width)], dtype=query.dtype)
    return (_each(query, key, value, width) * (sizes / len(key))[:, None, None]).sum(0)


def _some(part: Callable[[int, int], slice]) -> Callable[..., Tensor]:
    """Attention to some of the keys only."""

    def attend(query: Tensor, key: Tensor, value: Tensor, width: int) -> Tensor:
        some = part(len(key), width)
        return _block_attention(query, key[some], value[some], width)

    return attend


block_attention = Exercise(
    reference=_block_attention,
    given={
        "the output is right, but here are all the scores at once: go block by block.": (
            lambda q, k, v, width: (q @ k.T / math.sqrt(q.size(1))).softmax(1) @ v
        ),
        "sum and output of the earlier blocks belong to an older maximum: shrink both.": (
            streamed(shrinks=(False, False))
        ),
        "the sum of the earlier blocks belongs to an older maximum: shrink it, too.": (
            streamed(shrinks=(False, True))
        ),
        "the output of the earlier blocks belongs to an older maximum: shrink it, too.": (
            streamed(shrinks=(True, False))
        ),
        "every block has a maximum of its own, so their exponentials cannot be added.": (
            streamed(highest=lambda old, s: row_maximum(s), shrinks=(False, False))
        ),
        "every number is nan: the first maximum is −∞, its factor exp(old − new) must be 0.": (
            streamed(shrink=lambda old, new: (new - old).exp())
        ),
        "this is right for small scores only: without the maximum, exp overflows.": (
            streamed(start=0.0, highest=lambda old, s: old)
        ),
        "this overflows where a block has a lower maximum than those before: keep the highest.": (
            streamed(highest=lambda old, s: row_maximum(s))
        ),
        "the maximum starts at 0; where all scores are far below, nothing is left: use −∞.": (
            streamed(start=0.0)
        ),
        "each row needs a maximum of its own; with one for all, some rows lose everything.": (
            streamed(highest=lambda old, s: old.clamp(min=float(s.max())))
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
        "the division by the sum of the weights is missing.": streamed(ends=(False, False)),
        "the output is divided in every block; divide once, at the end.": (
            streamed(ends=(True, False))
        ),
        "what is kept is multiplied by exp(new − old maximum), and grows; it must shrink.": (
            streamed(shrink=lambda old, new: (new - old).exp().where(old.isfinite(), 1))
        ),
        "what a block adds belongs to its own maximum; all must belong to the highest.": (
            streamed(base=lambda old, new, s: row_maximum(s))
        ),
        "what a block adds is not relative to the maximum: subtract it before exp.": (
            streamed(base=lambda old, new, s: 0 * new)
        ),
        "the sum is that of the last block; add what is kept.": streamed(keeps=(0, 1)),
        "the output is that of the last block, over the sum of all; add what is kept.": (
            streamed(keeps=(1, 0))
        ),
        "the factor 1/√d_k is missing.": streamed(root=lambda d_k, d_v, width: 1),
        "the scores are divided by d_k; its root is asked for.": (
            streamed(root=lambda d_k, d_v, width: d_k)
        ),
        "the scores are multiplied by √d_k; divide by it.": (
            streamed(root=lambda d_k, d_v, width: d_k**-0.5)
        ),
        "the scores are divided by the root of d_v, the width of the values.": (
            streamed(root=lambda d_k, d_v, width: math.sqrt(d_v))
        ),
        "the scores are divided by the root of the width of a block.": (
            streamed(root=lambda d_k, d_v, width: math.sqrt(width))
        ),
        "the output is divided by √d_k; the scores must be.": (
            lambda q, k, v, width: (
                streamed(root=lambda d_k, d_v, width: 1)(q, k, v, width) / math.sqrt(q.size(1))
            )
        ),
        "the maximum is that of the first block; where a later one is higher, exp overflows.": (
            streamed(highest=lambda old, s: old.where(old.isfinite(), row_maximum(s)))
        ),
        "the blocks are weighted with their widths; they must be with their exponentials.": (
            _by_widths
        ),
        "the new block shrinks, and what is kept does not; it is the other way round.": (
            streamed(shrinks=(False, False), base=lambda old, new, s: 2 * new - old)
        ),
        "this is the attention to all keys but the first block.": (
            _some(lambda n, width: slice(width, None))
        ),
        "this is the attention to every key of all blocks but the last.": (
            _some(lambda n, width: slice((n - 1) // width * width))
        ),
        "the last key is missing.": _some(lambda n, width: slice(n - 1)),
        "this is the mean of the values: the scores are not used.": (
            lambda q, k, v, width: v.mean(0).expand(len(q), -1)
        ),
    },
    cases=[
        case(3, 7, 2, 4, 3, seed=0),
        case(5, 8, 4, 3, 4, seed=3, dtype=torch.float32),
        case(2, 6, 3, 5, 1, seed=6),
        case(4, 11, 3, 2, 5, seed=9, dtype=torch.float32, times=40),
        *(
            (
                600 + 200 * normal(3, 2, seed=12),
                normal(5, 2, seed=seed) - 5,
                normal(5, 4, seed=14),
                2,
            )
            for seed in (13, 28)
        ),
    ],
    ask=in_blocks,
)

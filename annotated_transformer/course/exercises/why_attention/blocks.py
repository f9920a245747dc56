"""Why attention: attention over blocks of keys, which never holds all the scores."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


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


class _Watch(TorchFunctionMode):
    """Remembers the shapes of the tensors of which PyTorch computes exponentials."""

    exponentials = ("exp", "exp_", "exp2", "softmax", "logsumexp", "scaled_dot_product_attention")

    def __enter__(self) -> Any:
        self.sizes: set[int] = set()
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Remember, and go on."""
        given = {**dict(enumerate(args)), **(kwargs or {})}.values()
        if func.__name__ in self.exponentials:
            self.sizes.update(n for x in given if isinstance(x, Tensor) for n in x.shape)
        return func(*args, **(kwargs or {}))


def _in_blocks(
    answer: Callable[..., Tensor | None], query: Tensor, key: Tensor, value: Tensor, width: int
) -> dict[str, Any] | None:
    """The output, and whether no exponential met the scores of all keys."""
    with _Watch() as watch:
        output = answer(query, key, value, width)
    seen = {"output": output, "one block at a time": len(key) not in watch.sizes}
    return None if output is None else seen


def _row_maximum(scores: Tensor) -> Tensor:
    return scores.amax(dim=1, keepdim=True)


def _wrong(
    root: Callable[[int], float] = math.sqrt,
    start: float = -math.inf,
    highest: Callable[[Tensor, Tensor], Tensor] = lambda old, s: old.maximum(_row_maximum(s)),
    shrink: Callable[[Tensor, Tensor], Tensor] = lambda old, new: (old - new).exp(),
    shrinks: tuple[bool, bool] = (True, True),  # the sum, and the output
    ends: tuple[bool, bool] = (False, True),  # divided in every block, and at the end
) -> Callable[..., Tensor]:
    """The same with another divisor, maximum, correction or end."""

    def attend(query: Tensor, key: Tensor, value: Tensor, width: int) -> Tensor:
        high = query.new_full((len(query), 1), start)
        total = output = torch.zeros_like(high)
        for keys, values in zip(torch.split(key, width), torch.split(value, width), strict=True):
            scores = query @ keys.T / root(query.size(1))
            new = highest(high, scores)
            factors = [shrink(high, new) if shrunk else 1.0 for shrunk in shrinks]
            weights, high = (scores - new).exp(), new
            total = total * factors[0] + weights.sum(dim=1, keepdim=True)
            output = (output * factors[1] + weights @ values) / (total if ends[0] else 1)
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
        "the factor 1/√d_k is missing.": _wrong(root=lambda d: 1),
        "the scores are divided by d_k; its root is asked for.": _wrong(root=lambda d: d),
    },
    cases=[
        (normal(3, 2, seed=0), normal(7, 2, seed=1), normal(7, 4, seed=2), 3),
        (
            normal(5, 4, seed=3, dtype=torch.float32),
            normal(8, 4, seed=4, dtype=torch.float32),
            normal(8, 3, seed=5, dtype=torch.float32),
            4,
        ),
        (normal(2, 3, seed=6), normal(6, 3, seed=7), normal(6, 5, seed=8), 1),
        (
            40 * normal(4, 3, seed=9, dtype=torch.float32),
            normal(11, 3, seed=10, dtype=torch.float32),
            normal(11, 2, seed=11, dtype=torch.float32),
            5,
        ),
        (
            600 + 200 * normal(3, 2, seed=12),
            normal(5, 2, seed=13) - 5,
            normal(5, 4, seed=14),
            2,
        ),
    ],
    ask=_in_blocks,
)

"""Why attention: attention over blocks of keys, wrong in one place."""

import math
from collections.abc import Callable

import torch
from torch import Tensor


def row_maximum(scores: Tensor) -> Tensor:
    """The highest score of each query."""
    return scores.amax(dim=1, keepdim=True)


def streamed(
    root: Callable[[int, int, int], float] = lambda d_k, d_v, width: math.sqrt(d_k),
    start: float = -math.inf,
    highest: Callable[[Tensor, Tensor], Tensor] = lambda old, s: old.maximum(row_maximum(s)),
    shrink: Callable[[Tensor, Tensor], Tensor] = lambda old, new: (old - new).exp(),
    base: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda old, new, s: new,
    shrinks: tuple[bool, bool] = (True, True),  # the sum, and the output
    keeps: tuple[int, int] = (1, 1),
    ends: tuple[bool, bool] = (False, True),  # divided in every block, and at the end
) -> Callable[..., Tensor]:
    """Attention over blocks with another divisor, maximum, correction or end."""

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

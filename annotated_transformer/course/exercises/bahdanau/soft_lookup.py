"""Bahdanau attention: a dictionary that is looked up softly."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _attention_weights(
    scores: Float[Tensor, "batch query key"], mask: Bool[Tensor, "batch 1 key"]
) -> Float[Tensor, "batch query key"]:
    """The weights of every query, from scores and a mask."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


def _masked(fill: float = -torch.inf, dim: int = -1) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda e, mask: e.masked_fill(~mask, fill).softmax(dim)


attention_weights = Exercise(
    reference=_attention_weights,
    mistakes={
        "the weights of a key sum to 1 over the queries; each query shares out 1 among the keys.": (
            _masked(-1e9, dim=-2)
        ),
        "a masked key has nan: the softmax goes over the queries, and must go over the keys.": (
            _masked(dim=-2)
        ),
        "this softmax goes over the sentences; each query shares out 1 among the keys.": (
            _masked(dim=0)
        ),
        "the softmax goes over all pairs of a sentence; each query shares out a 1 of its own.": (
            lambda e, mask: e.masked_fill(~mask, -torch.inf).flatten(1).softmax(-1).view_as(e)
        ),
        "this divides by the sum over the whole batch; each query shares out a 1 of its own.": (
            lambda e, mask: e.exp() * mask / (e.exp() * mask).sum()
        ),
        "the softmax goes over the queries, and the mask comes after it: both the other way.": (
            lambda e, mask: e.softmax(-2) * mask
        ),
        "the mask is inverted: True means may attend.": lambda e, mask: _masked()(e, ~mask),
        "these are shares among the queries, without the mask; share out 1 among the open keys.": (
            lambda e, mask: e.softmax(-2)
        ),
        "keys that are masked get weight: these weights do not depend on the mask.": (
            lambda e, mask: e.softmax(-1)
        ),
        "masked after the softmax: what is left no longer sums to 1.": (
            lambda e, mask: e.softmax(-1) * mask
        ),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1; it must be −∞.": _masked(0.0),
        "the mask is added to the scores: True is 1, so a masked key only gets a little less.": (
            lambda e, mask: (e + mask).softmax(-1)
        ),
        "these are shares of the scores themselves; the exponential is missing.": (
            lambda e, mask: e * mask / (e * mask).sum(-1, keepdim=True)
        ),
        "the exponentials are not divided by their sum.": lambda e, mask: e.exp() * mask,
        "these are still scores: the softmax is missing.": (
            lambda e, mask: e.masked_fill(~mask, -torch.inf)
        ),
        "everything is nan, for 0 · ∞ is: fill masked places instead of adding a product.": (
            lambda e, mask: (e + ~mask * -torch.inf).softmax(-1)
        ),
        "these are logarithms of the weights: softmax is asked for, not log_softmax.": (
            lambda e, mask: _masked()(e, mask).log()
        ),
    },
    cases=[
        (normal(2, 3, 4, seed=0), torch.tensor([[[1, 1, 0, 0]], [[1, 1, 1, 0]]]).bool()),
        (
            normal(3, 4, 2, seed=1, dtype=torch.float32),
            torch.tensor([[[1, 0]], [[0, 1]], [[1, 0]]]).bool(),
        ),
        (normal(2, 4, 3, seed=2), torch.tensor([[[1, 0, 1]], [[0, 1, 1]]]).bool()),
    ],
)


def _nadaraya_watson(
    query: Float[Tensor, " n"], keys: Float[Tensor, " m"], values: Float[Tensor, " m"], width: float
) -> Float[Tensor, " n"]:
    """Kernel regression: a guess for every query."""
    scores = -((query.unsqueeze(1) - keys) ** 2) / (2 * width**2)
    return scores.softmax(dim=1) @ values


def _regression(
    score: Callable[[Tensor, float], Tensor] = lambda x, width: -(x**2) / (2 * width**2),
    weigh: Callable[[Tensor], Tensor] = lambda e: e.softmax(1),
) -> Callable[..., Tensor]:
    return lambda q, k, v, width: weigh(score(q[:, None] - k, width)) @ v


nadaraya_watson = Exercise(
    reference=_nadaraya_watson,
    mistakes={
        "the weights are not divided by their sum.": _regression(weigh=torch.exp),
        "each query divides by a sum of its own, over the keys; this one is over the queries.": (
            _regression(weigh=lambda e: e.softmax(0))
        ),
        "this divides by the sum over all queries; each query has a sum of its own.": (
            _regression(weigh=lambda e: e.exp() / e.exp().sum())
        ),
        "this divides by the number of keys, not by the sum of their weights.": (
            _regression(weigh=lambda e: e.exp() / e.size(1))
        ),
        "this is a softmax of the kernel, which has its exponential already.": (
            _regression(weigh=lambda e: e.exp().softmax(1))
        ),
        "the width is not squared.": _regression(lambda x, width: -(x**2) / (2 * width)),
        "the half is missing: divide by 2 · width².": (
            _regression(lambda x, width: -((x / width) ** 2))
        ),
        "this divides by 2 and multiplies by width²; put brackets around the whole divisor.": (
            _regression(lambda x, width: -(x**2) / 2 * width**2)
        ),
        "the distance is not squared: near and far keys differ too little.": (
            _regression(lambda x, width: -x.abs() / (2 * width**2))
        ),
        "the minus is missing: the farthest key counts most.": (
            _regression(lambda x, width: x**2 / (2 * width**2))
        ),
        "this is the value of the nearest key; all keys have a say.": (
            lambda q, k, v, width: v[(q[:, None] - k).abs().argmin(1)]
        ),
        "this is the plain mean; near keys must count more.": (
            lambda q, k, v, width: v.mean().expand_as(q)
        ),
    },
    cases=[
        (normal(2, seed=0), normal(3, seed=1), normal(3, seed=2), 0.5),
        (*(normal(n, seed=n, dtype=torch.float32) for n in (4, 3)), normal(3, seed=5).float(), 1.5),
        (normal(4, seed=6), normal(6, seed=7), normal(6, seed=8), 0.8),
    ],
)

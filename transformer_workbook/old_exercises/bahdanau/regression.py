"""Bahdanau attention: a regression that weighs by nearness."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


def _nadaraya_watson(
    query: Float[Tensor, " n"],
    keys: Float[Tensor, " m"],
    values: Float[Tensor, " m"],
    bandwidth: float,
) -> Float[Tensor, " n"]:
    """Kernel regression: a guess for every query."""
    scores = -((query.unsqueeze(1) - keys) ** 2) / (2 * bandwidth**2)
    return scores.softmax(dim=1) @ values


def _regression(
    score: Callable[[Tensor, float], Tensor] = lambda x, bandwidth: -(x**2) / (2 * bandwidth**2),
    weigh: Callable[[Tensor], Tensor] = lambda e: e.softmax(1),
) -> Callable[..., Tensor]:
    return lambda q, k, v, bandwidth: weigh(score(q[:, None] - k, bandwidth)) @ v


def _density(
    of_bandwidth: float, of_pi: float = 1.0, of_keys: float = 0.0
) -> Callable[..., Tensor]:
    """The kernel as a density: over powers of the bandwidth, of 2π and of the number of keys."""
    return lambda q, k, v, bandwidth: (
        _regression(weigh=torch.exp)(q, k, v, bandwidth)
        / (bandwidth**of_bandwidth * (2 * torch.pi) ** (of_pi / 2) * len(k) ** of_keys)
    )


nadaraya_watson = Exercise(
    reference=_nadaraya_watson,
    given={
        "the weights are not divided by their sum.": _regression(weigh=torch.exp),
        "the weights are a normal density; they must be divided by their own sum.": _density(1.0),
        "the weights are a mean of normal densities; they must be divided by their sum.": (
            _density(1.0, of_keys=1.0)
        ),
        "the weights are divided by √(2π), not by their sum.": _density(0.0),
        "the weights are divided by the bandwidth, not by their sum.": _density(1.0, of_pi=0.0),
        "the squares of a query's weights sum to 1; the weights themselves must.": (
            _regression(weigh=lambda e: e.exp() / (2 * e).exp().sum(1, keepdim=True).sqrt())
        ),
        "the largest weight of a query is 1; the weights must sum to 1.": (
            _regression(weigh=lambda e: (e - e.amax(1, keepdim=True)).exp())
        ),
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
        "the bandwidth is not squared.": _regression(
            lambda x, bandwidth: -(x**2) / (2 * bandwidth)
        ),
        "the 2 is squared with the bandwidth: divide by 2 · bandwidth².": (
            _regression(lambda x, bandwidth: -((x / (2 * bandwidth)) ** 2))
        ),
        "the bandwidth is not looked at.": _regression(lambda x, bandwidth: -(x**2) / 2),
        "the scores are multiplied by bandwidth², not divided by it.": (
            _regression(lambda x, bandwidth: -(x**2) * bandwidth**2)
        ),
        "the bandwidth is not squared, and the half is missing.": (
            _regression(lambda x, bandwidth: -(x**2) / bandwidth)
        ),
        "the distance is not squared, nor is the bandwidth.": (
            _regression(lambda x, bandwidth: -x.abs() / bandwidth)
        ),
        "the difference is not squared: keys on one side count most.": (
            _regression(lambda x, bandwidth: -x / (2 * bandwidth**2))
        ),
        "the half is missing: divide by 2 · bandwidth².": (
            _regression(lambda x, bandwidth: -((x / bandwidth) ** 2))
        ),
        "this divides by 2 and multiplies by bandwidth²; put brackets around the whole divisor.": (
            _regression(lambda x, bandwidth: -(x**2) / 2 * bandwidth**2)
        ),
        "the distance is not squared: near and far keys differ too little.": (
            _regression(lambda x, bandwidth: -x.abs() / (2 * bandwidth**2))
        ),
        "the minus is missing: the farthest key counts most.": (
            _regression(lambda x, bandwidth: x**2 / (2 * bandwidth**2))
        ),
        "this is the value of the nearest key; all keys have a say.": (
            lambda q, k, v, bandwidth: v[(q[:, None] - k).abs().argmin(1)]
        ),
        "this is the plain mean; near keys must count more.": (
            lambda q, k, v, bandwidth: v.mean().expand_as(q)
        ),
    },
    cases=[
        (normal(2, seed=0), normal(3, seed=1), normal(3, seed=2), 0.5),
        (*(normal(n, seed=n, dtype=torch.float32) for n in (4, 3)), normal(3, seed=5).float(), 1.5),
        (normal(4, seed=6), normal(6, seed=7), normal(6, seed=8), 0.8),
    ],
)

"""What heads do: how far do two measures agree?"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _kendall_tau(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float:
    """How far do two vectors put the same things into the same order?"""
    n, total = len(a), 0.0
    for i in range(n):
        for j in range(i):
            total += float(torch.sign(a[i] - a[j]) * torch.sign(b[i] - b[j]))
    return total / (n * (n - 1) / 2)


def _signs(x: Tensor) -> Tensor:
    return torch.sign(x[:, None] - x)


def _pairs(x: Tensor) -> float:
    return len(x) * (len(x) - 1) / 2


def _over(divisor: Callable[[Tensor, Tensor], Tensor | float]) -> Callable[..., float]:
    """The sum over all pairs, each taken once, divided by something else than their number."""
    return lambda a, b: float((_signs(a) * _signs(b)).sum() / 2 / divisor(a, b))


def _each(count: Callable[[Tensor], Tensor]) -> Callable[..., float]:
    """Another count for a pair than its sign."""
    return lambda a, b: float(count(_signs(a) * _signs(b)).double().tril(-1).sum()) / _pairs(a)


def _pearson(a: Tensor, b: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([a, b]))[0, 1])


def _ranks(x: Tensor) -> Tensor:
    return ((x[:, None] > x).sum(1) + ((x[:, None] == x).sum(1) - 1) / 2).double()


kendall_tau = Exercise(
    reference=_kendall_tau,
    mistakes={
        "each pair is counted twice, and divided by the number of pairs counted once.": (
            _over(lambda a, b: _pairs(a) / 2)
        ),
        "this is half of it; each pair is counted once, and there are n(n - 1)/2.": (
            _over(lambda a, b: _pairs(a) * 2)
        ),
        "you divide by n²; there are n(n - 1)/2 pairs.": _over(lambda a, b: len(a) ** 2 / 2),
        "you divide by n; there are n(n - 1)/2 pairs.": _over(lambda a, b: len(a)),
        "you divide by the pairs without a tie; pairs with a tie count 0, but they count.": (
            _over(lambda a, b: (_signs(a) * _signs(b)).abs().sum() / 2)
        ),
        "this is tau-b, where ties make the divisor smaller; here all pairs divide.": (
            _over(lambda a, b: _signs(a).norm() * _signs(b).norm() / 2)
        ),
        "this is the sum; divide by the number of pairs.": _over(lambda a, b: 1),
        "the sign is reversed: the same order makes 1.": _over(lambda a, b: -_pairs(a)),
        "this is the share of pairs in the same order; those in opposite order count -1.": (
            _each(lambda product: product > 0)
        ),
        "ties count 0, not as disagreement.": _each(lambda product: (product > 0) * 2 - 1),
        "ties count 0, not as agreement.": _each(lambda product: (product >= 0) * 2 - 1),
        "you multiply the differences themselves; only their signs count.": (
            lambda a, b: float(((a[:, None] - a) * (b[:, None] - b)).sum()) / 2 / _pairs(a)
        ),
        "this is the correlation of the numbers; only their order counts.": _pearson,
        "this is the correlation of the ranks, Spearman's; Kendall's compares pairs.": (
            lambda a, b: _pearson(_ranks(a), _ranks(b))
        ),
        "only neighbours are compared; every pair counts.": (
            lambda a, b: float((a.diff().sign() * b.diff().sign()).mean())
        ),
        "only the pairs with the first place are compared; every pair counts.": (
            lambda a, b: float((_signs(a) * _signs(b))[0, 1:].mean())
        ),
    },
    cases=[
        (torch.tensor([0.1, 0.5, 0.3, 0.1]).double(), torch.tensor([0.3, 0.3, 0.2, 0.4]).double()),
        (normal(5, seed=1, dtype=torch.float32), normal(5, seed=2, dtype=torch.float32)),
        (normal(7, seed=3), normal(7, seed=4)),
        (torch.tensor([0.4, 0.1, 0.2]).double(), torch.tensor([0.3, 0.1, 0.2]).double()),
    ],
)

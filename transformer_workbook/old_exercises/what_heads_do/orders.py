"""What heads do: how far do two measures agree?"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


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


def _spearman(ranks: Callable[[Tensor], Tensor]) -> Callable[..., float]:
    """Spearman's correlation by its short formula, from some ranks."""

    def rho(a: Tensor, b: Tensor) -> float:
        n = len(a)
        return 1 - 6 * float(((ranks(a) - ranks(b)) ** 2).sum()) / (n * (n**2 - 1))

    return rho


def _by(count: Callable[[int], float]) -> Callable[..., float]:
    return _over(lambda a, b: count(len(a)))


DIVISORS: dict[str, Callable[[int], float]] = {
    "n(n + 1)/2": lambda n: n * (n + 1) / 2,
    "n - 1": lambda n: n - 1,
    "(n - 1)²": lambda n: (n - 1) ** 2,
    "n², and count no pair twice": lambda n: n**2,
    "(n - 1)(n - 2)/2": lambda n: (n - 1) * (n - 2) / 2,
}
"""By what else the sum may be divided."""

COUNTS: dict[str, Callable[[Tensor], Tensor]] = {
    "this is the share of pairs in opposite order; those in the same order count 1.": (
        lambda product: product < 0
    ),
    "this is the share of pairs without a tie; opposite order counts -1.": (
        lambda product: product != 0
    ),
    "this is the share of pairs with a tie; they count 0.": lambda product: product == 0,
    "this is the share of pairs in the same order or with a tie.": lambda product: product >= 0,
    "ties count a half, not 0.": lambda product: product + (product == 0) / 2,
    "ties count a half among the pairs in the same order; a tie counts 0.": (
        lambda product: (product + 1) / 2
    ),
    "ties count -1/2, not 0.": lambda product: product - (product == 0) / 2,
}
"""What else a pair may count."""


kendall_tau = Exercise(
    reference=_kendall_tau,
    given={
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
        **{
            f"you divide by {what}; there are n(n - 1)/2 pairs.": _by(count)
            for what, count in DIVISORS.items()
        },
        **{sentence: _each(count) for sentence, count in COUNTS.items()},
        "this is the sum over the square table; each pair stands in it twice. Take the mean.": (
            _over(lambda a, b: 0.5)
        ),
        "this is how many more pairs agree than not, of those without a tie in `a` only.": (
            _over(lambda a, b: _signs(a).abs().sum() / 2)
        ),
        "this is how many more pairs agree than not, of those without a tie in `b` only.": (
            _over(lambda a, b: _signs(b).abs().sum() / 2)
        ),
        "of `a` the differences count themselves; only their signs should.": (
            lambda a, b: float(((a[:, None] - a) * _signs(b)).sum()) / 2 / _pairs(a)
        ),
        "of `b` the differences count themselves; only their signs should.": (
            lambda a, b: float((_signs(a) * (b[:, None] - b)).sum()) / 2 / _pairs(a)
        ),
        "neighbours are compared and added; every pair counts, and the mean is asked for.": (
            lambda a, b: float((a.diff().sign() * b.diff().sign()).sum())
        ),
        "neighbours alone are compared, but divided by the number of all pairs.": (
            lambda a, b: float((a.diff().sign() * b.diff().sign()).sum()) / _pairs(a)
        ),
        "only the pairs with the last place are compared; every pair counts.": (
            lambda a, b: float((_signs(a) * _signs(b))[-1, :-1].mean())
        ),
        "numbers at the same place are compared; compare the pairs of places.": (
            lambda a, b: float(torch.sign(a - b).double().mean())
        ),
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
        "this is Spearman's by its short formula; Kendall's compares pairs.": _spearman(_ranks),
        "this is Spearman's, which ranks ties one after the other; Kendall's compares pairs.": (
            _spearman(lambda x: x.argsort(stable=True).argsort().double())
        ),
        "only neighbours are compared; every pair counts.": (
            lambda a, b: float((a.diff().sign() * b.diff().sign()).mean())
        ),
        "only the pairs with the first place are compared; every pair counts.": (
            lambda a, b: float((_signs(a) * _signs(b))[0, 1:].mean())
        ),
        "you divide by 3, whatever n is; there are n(n - 1)/2 pairs.": _over(lambda a, b: 3),
    },
    cases=[
        (torch.tensor([0.1, 0.5, 0.3, 0.1]).double(), torch.tensor([0.3, 0.3, 0.2, 0.4]).double()),
        (normal(5, seed=1, dtype=torch.float32), normal(5, seed=2, dtype=torch.float32)),
        (normal(7, seed=3), normal(7, seed=4)),
        (
            torch.tensor([0.2, 0.2, 0.2, 0.5, 0.1]).double(),
            torch.tensor([0.4, 0.1, 0.3, 0.5, 0.1]).double(),
        ),
        (torch.tensor([0.4, 0.1, 0.2]).double(), torch.tensor([0.3, 0.1, 0.2]).double()),
    ],
)

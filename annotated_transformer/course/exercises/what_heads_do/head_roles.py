"""What heads do: is it what we think, or chance?"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _relation_score(
    weights: Float[Tensor, "heads query key"], relation: Bool[Tensor, "query key"]
) -> Float[Tensor, " heads"]:
    related = (weights * relation).sum(dim=2)
    return related[:, relation.any(dim=1)].mean(dim=1)


def _by_argmax(weights: Tensor, relation: Tensor) -> Tensor:
    best = weights.argmax(dim=2)
    hits = torch.stack([relation[torch.arange(len(relation)), row] for row in best])
    return hits[:, relation.any(dim=1)].to(weights.dtype).mean(dim=1)


def _weights(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return normal(*shape, seed=shape[0], dtype=dtype).softmax(dim=2)


relation_score = Exercise(
    reference=_relation_score,
    mistakes={
        "you take the mean over all queries; queries without a related key do not count.": (
            lambda weights, relation: (weights * relation).sum(2).mean(1)
        ),
        "you take the mean over pairs; add up what one query gives to all its related keys.": (
            lambda weights, relation: weights[:, relation].mean(1)
        ),
        "this is the sum; divide by the number of queries that have a related key.": (
            lambda weights, relation: weights[:, relation].sum(1)
        ),
        "you take the largest related weight; add up what a query gives to its related keys.": (
            lambda weights, relation: (weights * relation).amax(2)[:, relation.any(1)].mean(1)
        ),
        "you count how often the strongest weight is right; the mean weight is asked for.": (
            _by_argmax
        ),
        "this is the mean over the heads; each head has a score of its own.": (
            lambda weights, relation: _relation_score(weights, relation).mean()
        ),
        "this is the weight on the keys that are not related.": (
            lambda weights, relation: 1 - _relation_score(weights, relation)
        ),
        "you divide by the number of related keys; the weights on them are added.": (
            lambda weights, relation: ((weights * relation).sum(2) / relation.sum(1))[
                :, relation.any(1)
            ].mean(1)
        ),
        "you divide by the number of keys; the weights are to be added, not averaged.": (
            lambda weights, relation: _relation_score(weights, relation) / weights.size(2)
        ),
    },
    cases=[
        (_weights(2, 3, 4), torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]]).bool()),
        (
            _weights(4, 3, 2, dtype=torch.float32),
            torch.tensor([[0, 1], [0, 1], [0, 0]]).bool(),
        ),
        (_weights(5, 4, 3), torch.tensor([[1, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 1]]).bool()),
    ],
)


def _previous_by_chance(n: int, causal: bool) -> float:
    if not causal:
        return 1 / n
    return sum(1 / t for t in range(2, n + 1)) / (n - 1)


previous_by_chance = Exercise(
    reference=_previous_by_chance,
    mistakes={
        "behind a causal mask token t shares 1 out among t tokens; without it you are right.": (
            lambda n, causal: 1 / n
        ),
        "without a mask you are right; with it, leave the first token out: none is before it.": (
            lambda n, causal: sum(1 / t for t in range(1, n + 1)) / n if causal else 1 / n
        ),
        "without a mask you are right; with it, divide by the n - 1 tokens that have one before.": (
            lambda n, causal: sum(1 / t for t in range(2, n + 1)) / n if causal else 1 / n
        ),
        "tokens without a previous one do not count: divide by n - 1.": (
            lambda n, causal: _previous_by_chance(n, causal) * (n - 1) / n
        ),
        "without a mask you are right; with it, a token sees itself too: token t sees t tokens.": (
            lambda n, causal: sum(1 / t for t in range(1, n)) / (n - 1) if causal else 1 / n
        ),
        "without a mask you are right; the mean of 1/t is not 1 over the mean of t.": (
            lambda n, causal: 2 / (n + 2) if causal else 1 / n
        ),
        "without a mask you are right; with it, this is the sum, the mean is asked for.": (
            lambda n, causal: sum(1 / t for t in range(2, n + 1)) if causal else 1 / n
        ),
        "you have exchanged the two: the mask hides the future where causal is True.": (
            lambda n, causal: _previous_by_chance(n, not causal)
        ),
        "with the mask you are right; without it a token sees all n tokens, itself included.": (
            lambda n, causal: _previous_by_chance(n, True) if causal else 1 / (n - 1)
        ),
        "with the mask you are right; it hides nothing where causal is False.": (
            lambda n, causal: _previous_by_chance(n, True)
        ),
    },
    cases=[(4, False), (4, True), (3, False), (3, True), (9, True), (9, False)],
)


def _kendall_tau(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float:
    n, total = len(a), 0.0
    for i in range(n):
        for j in range(i):
            total += float(torch.sign(a[i] - a[j]) * torch.sign(b[i] - b[j]))
    return total / (n * (n - 1) / 2)


def _signs(x: Tensor) -> Tensor:
    return torch.sign(x[:, None] - x)


def _pearson(a: Tensor, b: Tensor) -> float:
    return float(torch.corrcoef(torch.stack([a, b]))[0, 1])


def _ranks(x: Tensor) -> Tensor:
    return (x[:, None] > x).sum(1) + ((x[:, None] == x).sum(1) - 1) / 2


def _pairs(x: Tensor) -> float:
    return len(x) * (len(x) - 1) / 2


kendall_tau = Exercise(
    reference=_kendall_tau,
    mistakes={
        "you count each pair twice, but divide by the number of pairs counted once.": (
            lambda a, b: float((_signs(a) * _signs(b)).sum()) / _pairs(a)
        ),
        "you divide by n²; there are n(n - 1)/2 pairs.": (
            lambda a, b: float((_signs(a) * _signs(b)).sum()) / len(a) ** 2
        ),
        "you divide by n; there are n(n - 1)/2 pairs.": (
            lambda a, b: float((_signs(a) * _signs(b)).sum()) / 2 / len(a)
        ),
        "you divide by the pairs without a tie; pairs with a tie count 0, but they count.": (
            lambda a, b: float((_signs(a) * _signs(b)).sum() / (_signs(a) * _signs(b)).abs().sum())
        ),
        "this is tau-b, where ties make the divisor smaller; here all pairs divide.": (
            lambda a, b: float((_signs(a) * _signs(b)).sum() / _signs(a).norm() / _signs(b).norm())
        ),
        "this is the sum; divide by the number of pairs.": (
            lambda a, b: float((_signs(a) * _signs(b)).sum()) / 2
        ),
        "this is the share of pairs in the same order; those in opposite order count -1.": (
            lambda a, b: float((_signs(a) * _signs(b) > 0).sum()) / 2 / _pairs(a)
        ),
        "you multiply the differences themselves; only their signs count.": (
            lambda a, b: float(((a[:, None] - a) * (b[:, None] - b)).sum()) / 2 / _pairs(a)
        ),
        "this is the correlation of the numbers; only their order counts.": _pearson,
        "this is the correlation of the ranks, Spearman's; Kendall's compares pairs.": (
            lambda a, b: _pearson(_ranks(a).double(), _ranks(b).double())
        ),
        "you compare neighbours only; every pair counts.": (
            lambda a, b: float((a.diff().sign() * b.diff().sign()).mean())
        ),
        "ties count 0, not as disagreement.": (
            lambda a, b: float((((_signs(a) * _signs(b)) > 0) * 2 - 1).tril(-1).sum()) / _pairs(a)
        ),
        "ties count 0, not as agreement.": (
            lambda a, b: float((((_signs(a) * _signs(b)) >= 0) * 2 - 1).tril(-1).sum()) / _pairs(a)
        ),
        "the sign is reversed: the same order makes 1.": lambda a, b: -_kendall_tau(a, b),
    },
    cases=[
        (torch.tensor([0.1, 0.5, 0.3, 0.1]).double(), torch.tensor([0.3, 0.3, 0.2, 0.4]).double()),
        (normal(5, seed=1, dtype=torch.float32), normal(5, seed=2, dtype=torch.float32)),
        (normal(7, seed=3), normal(7, seed=4)),
    ],
)

"""What heads do: is it what we think, or chance?"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal

NARROW = torch.float32


def _relation_score(
    weights: Float[Tensor, "heads query key"], relation: Bool[Tensor, "query key"]
) -> Float[Tensor, " heads"]:
    """How much weight does each head give to the related keys?"""
    related = (weights * relation).sum(dim=2)
    return related[:, relation.any(dim=1)].mean(dim=1)


def _rows_by(measure: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """The mean, over the queries with a related key, of something else than the sum."""
    return lambda weights, relation: (
        measure(weights, relation)[:, relation.any(1)].to(weights.dtype).mean(1)
    )


def _is_best(weights: Tensor, relation: Tensor) -> Tensor:
    best = weights.argmax(dim=2)
    return torch.stack([relation[torch.arange(len(relation)), row] for row in best])


def _per(count: Callable[[Tensor], int]) -> Callable[[Tensor, Tensor], Tensor]:
    """All related weight of a head, divided by some number."""
    return lambda weights, relation: weights[:, relation].sum(1) / count(relation)


def _weights(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return normal(*shape, seed=shape[0], dtype=dtype).softmax(dim=2)


relation_score = Exercise(
    reference=_relation_score,
    mistakes={
        "this is the mean over all queries; queries without a related key do not count.": (
            _per(len)
        ),
        "this is the mean over pairs; add up what one query gives to all its related keys.": (
            _per(lambda relation: int(relation.sum()))
        ),
        "this is the sum; divide by the number of queries that have a related key.": (
            _per(lambda relation: 1)
        ),
        "this is a mean over keys, not over the queries that have a related key.": (
            _per(lambda relation: int(relation.any(0).sum()))
        ),
        "this is the largest related weight; add up what a query gives to its related keys.": (
            _rows_by(lambda weights, relation: (weights * relation).amax(2))
        ),
        "this is how often the largest weight is on a related key; the mean weight is asked for.": (
            _rows_by(_is_best)
        ),
        "this is the mean over the heads; each head has a score of its own.": (
            lambda weights, relation: _relation_score(weights, relation).mean()
        ),
        "this is the weight on the keys that are not related.": (
            lambda weights, relation: 1 - _relation_score(weights, relation)
        ),
        "you divide by the number of related keys; the weights on them are added.": (
            _rows_by(lambda weights, relation: (weights * relation).sum(2) / relation.sum(1))
        ),
        "you divide by the number of keys; the weights are to be added, not averaged.": (
            _rows_by(lambda weights, relation: (weights * relation).mean(2))
        ),
        "each row is scaled so that the related weights sum to 1; take them as they are.": (
            _rows_by(lambda weights, relation: relation.expand_as(weights).any(2))
        ),
    },
    cases=[
        (_weights(2, 3, 4), torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]]).bool()),
        (_weights(4, 3, 2, dtype=NARROW), torch.tensor([[0, 1], [0, 1], [0, 0]]).bool()),
        (_weights(5, 4, 3), torch.tensor([[1, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 1]]).bool()),
    ],
)


def _previous_by_chance(n: int, causal: bool) -> float:
    """What does a head with even weights score for the previous token?"""
    if not causal:
        return 1 / n
    return sum(1 / t for t in range(2, n + 1)) / (n - 1)


def _behind(mask: Callable[[int], float]) -> Callable[[int, bool], float]:
    """Right without the mask, something else behind it."""
    return lambda n, causal: mask(n) if causal else 1 / n


previous_by_chance = Exercise(
    reference=_previous_by_chance,
    mistakes={
        "behind a causal mask token t shares 1 out among t tokens; without it you are right.": (
            _behind(lambda n: 1 / n)
        ),
        "without a mask you are right; with it, leave the first token out: none is before it.": (
            _behind(lambda n: sum(1 / t for t in range(1, n + 1)) / n)
        ),
        "without a mask you are right; with it, divide by the n - 1 tokens that have one before.": (
            _behind(lambda n: _previous_by_chance(n, True) * (n - 1) / n)
        ),
        "tokens without a previous one do not count: divide by n - 1.": (
            lambda n, causal: _previous_by_chance(n, causal) * (n - 1) / n
        ),
        "without a mask you are right; with it, a token sees itself too: token t sees t tokens.": (
            _behind(lambda n: sum(1 / t for t in range(1, n)) / (n - 1))
        ),
        "without a mask you are right; the mean of 1/t is not 1 over the mean of t.": (
            _behind(lambda n: 2 / (n + 2))
        ),
        "without a mask you are right; with it, this is the sum, the mean is asked for.": (
            _behind(lambda n: _previous_by_chance(n, True) * (n - 1))
        ),
        "the two are exchanged: the mask hides the future where causal is True.": (
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

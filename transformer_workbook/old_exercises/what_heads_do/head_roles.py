"""What heads do: how much weight goes to the related keys?"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise

NARROW, WIDE = torch.float32, torch.float64


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


def _in_either_type(answer: Callable[..., Any], weights: Tensor, relation: Tensor) -> Any:
    """Both `relation.float()` and `relation.double()` are right, whatever type the weights have."""
    try:
        return answer(weights, relation)
    except RuntimeError:
        return answer(weights.to(WIDE if weights.dtype == NARROW else NARROW), relation)


def _weights(*shape: int, dtype: torch.dtype = WIDE) -> Tensor:
    scores = normal(*shape, seed=shape[0], dtype=dtype)
    scores[:, -1, -1] = -torch.inf  # so a related key may have weight 0
    return scores.softmax(dim=2)


relation_score = Exercise(
    ask=_in_either_type,
    reference=_relation_score,
    given={
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
        "this is the mean over all queries and all keys; add over the related keys.": (
            _per(lambda relation: relation.numel())
        ),
        "these are the numbers of each query; their mean is asked for, one for a head.": (
            lambda weights, relation: (weights * relation).sum(2)[:, relation.any(1)]
        ),
        "these are the numbers of all queries; one mean for each head is asked for.": (
            lambda weights, relation: (weights * relation).sum(2)
        ),
        "this is the largest number of a query; the mean over the queries is asked for.": (
            lambda weights, relation: (weights * relation).sum(2).amax(1)
        ),
        "only queries all of whose keys are related count here; one related key is enough.": (
            lambda weights, relation: (weights * relation).sum(2)[:, relation.all(1)].mean(1)
        ),
        "the weights are added over the queries; add over the keys, the last axis.": (
            lambda weights, relation: (weights * relation).sum(1)
        ),
        "the weights are added over the queries here, and the mean is taken over all keys.": (
            lambda weights, relation: (weights * relation).sum(1).mean(1)
        ),
        "only the first related key of each query counts here; add up all of them.": (
            _rows_by(
                lambda weights, relation: (weights * (relation & (relation.cumsum(1) == 1))).sum(2)
            )
        ),
        "only the last related key of each query counts here; add up all of them.": (
            _rows_by(
                lambda weights, relation: (
                    weights * (relation & (relation.flip(1).cumsum(1).flip(1) == 1))
                ).sum(2)
            )
        ),
        "what even weights would give is subtracted; the score itself is asked for.": (
            _rows_by(lambda weights, relation: ((weights - 1 / len(relation.T)) * relation).sum(2))
        ),
        "this is divided by what even weights would give; the score itself is asked for.": (
            lambda weights, relation: (
                _relation_score(weights, relation)
                / _relation_score(torch.ones_like(weights) / len(relation.T), relation)
            )
        ),
        "the softmax is taken once more; these are weights already.": (
            lambda weights, relation: _relation_score(weights.softmax(2), relation)
        ),
        "this is the median over the queries; the mean is asked for.": (
            lambda weights, relation: (
                (weights * relation).sum(2)[:, relation.any(1)].median(1).values
            )
        ),
    },
    cases=[
        (_weights(2, 3, 4), torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]]).bool()),
        (_weights(4, 3, 2, dtype=NARROW), torch.tensor([[0, 1], [0, 1], [0, 0]]).bool()),
        (_weights(5, 4, 3), torch.tensor([[1, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 1]]).bool()),
    ],
)

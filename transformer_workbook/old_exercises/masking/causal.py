"""Masking: attention that sees no future."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import random_cases
from transformer_workbook.judge.exercises import Exercise


def _causal_attention(
    query: Float[Tensor, "*batch time d_k"],
    key: Float[Tensor, "*batch time d_k"],
    value: Float[Tensor, "*batch time d_v"],
) -> Float[Tensor, "*batch time d_v"]:
    """Causal attention, after the bug in the friend's is found."""
    scores = query @ key.mT / math.sqrt(query.size(-1))
    past = torch.ones_like(scores).tril() == 1
    return scores.masked_fill(~past, -torch.inf).softmax(dim=-1) @ value


def _wrong(
    root: Callable[[Tensor, Tensor], float] = lambda q, v: math.sqrt(q.size(-1)),
    hidden: Callable[[Tensor], Tensor] = lambda ones: ones.triu(1),
    score: float = -torch.inf,
    dim: int = -1,
    weigh: Callable[[Tensor, Tensor], Tensor] = torch.matmul,
    size: Callable[[Tensor], int] = lambda q: q.size(-2),
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Causal attention in which one of the steps is another."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = query @ key.mT / root(query, value)
        ones = torch.ones(size(query), size(query))
        kept = scores.masked_fill(hidden(ones) == 1, score)
        return weigh(kept.softmax(dim), value)

    return attend


def _no_softmax() -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Masked scores in place of weights; the future has weight 0."""
    return lambda q, k, v: (q @ k.mT / math.sqrt(q.size(-1))).tril() @ v


causal_attention = Exercise(
    reference=_causal_attention,
    given={
        "each position sees itself and the future; it must be itself and the past.": (
            _wrong(hidden=lambda ones: ones.tril(-1))
        ),
        "a position must see itself too; the first sees nothing, and 0/0 is nan.": (
            _wrong(hidden=lambda ones: ones.triu())
        ),
        "each position sees one place too far: that is the word it has to predict.": (
            _wrong(hidden=lambda ones: ones.triu(2))
        ),
        "each position and its past are hidden, and the future is seen.": (
            _wrong(hidden=lambda ones: ones.tril())
        ),
        "each position sees only itself; its past must be seen too.": (
            _wrong(hidden=lambda ones: ones.triu(1) + ones.tril(-1))
        ),
        "the future is not hidden.": _wrong(hidden=torch.zeros_like),
        "the mask comes after the softmax: the weights that are left do not sum to 1.": _wrong(
            hidden=torch.zeros_like, weigh=lambda weights, value: weights.tril() @ value
        ),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1; it must be −∞.": _wrong(score=0.0),
        "the softmax goes over the queries; each query shares out 1 among the keys.": (
            _wrong(dim=-2)
        ),
        "the softmax goes over axis 1, which is the keys only without a batch; take −1.": (
            _wrong(dim=1)
        ),
        "queries and keys are swapped.": lambda q, k, v: _causal_attention(k, q, v),
        "the scores are divided by d_k; its root is asked for.": (_wrong(lambda q, v: q.size(-1))),
        "** comes before /: put −1/2 into brackets.": _wrong(lambda q, v: 2 * q.size(-1)),
        "the scores are multiplied by √d_k, not divided.": _wrong(lambda q, v: q.size(-1) ** -0.5),
        "this divides by the root of d_v, the width of the values.": (
            _wrong(lambda q, v: math.sqrt(v.size(-1)))
        ),
        "this divides by the root of the number of positions.": (
            _wrong(lambda q, v: math.sqrt(q.size(-2)))
        ),
        "the scores are not divided by √d_k.": _wrong(lambda q, v: 1),
        "the past has 1 added to its scores; the future must get −∞.": (
            lambda q, k, v: (
                (q @ k.mT / math.sqrt(q.size(-1)) + torch.ones_like(q @ k.mT).tril()).softmax(-1)
                @ v
            )
        ),
        "a masked score of 1 is not a weight of 0; it must be −∞.": _wrong(score=1.0),
        "a masked score of −1 is not a weight of 0; it must be −∞.": _wrong(score=-1.0),
        "each position sees itself and the next one; it must be itself and the past.": (
            _wrong(hidden=lambda ones: ones.tril(-1) + ones.triu(2))
        ),
        "each position sees itself and the one before; all of its past must be seen.": (
            _wrong(hidden=lambda ones: ones.triu(1) + ones.tril(-2))
        ),
        "only the last position is hidden; every position hides what follows it.": (
            _wrong(hidden=lambda ones: ones.triu(1) * (ones.cumsum(-1) == ones.size(-1)))
        ),
        "each position takes the mean of its past; the scores are not used.": (
            _wrong(lambda q, v: math.inf)
        ),
        "the output is divided by √d_k; the scores must be.": (
            lambda q, k, v: _wrong(lambda q, v: 1)(q, k, v) / math.sqrt(q.size(-1))
        ),
        "the output is divided by √d_k once more.": (
            lambda q, k, v: _causal_attention(q, k, v) / math.sqrt(q.size(-1))
        ),
        "the weights are transposed: each row of them belongs to a query.": (
            _wrong(weigh=lambda weights, value: weights.mT @ value)
        ),
        "the softmax is missing: these are masked scores times the values.": _no_softmax(),
        "the future is not hidden, and the scores are not divided by √d_k.": (
            _wrong(lambda q, v: 1, hidden=torch.zeros_like)
        ),
        "the mask comes after the softmax, which goes over the queries.": _wrong(
            hidden=torch.zeros_like, dim=-2, weigh=lambda weights, value: weights.tril() @ value
        ),
        "the softmax goes over the queries, and each position's past is hidden from it.": (
            _wrong(hidden=lambda ones: ones.tril(-1), dim=-2)
        ),
        "the positions are counted along axis 1, which is theirs only in a batch; take −2.": (
            _wrong(hidden=lambda ones: ones.triu(1), size=lambda q: q.size(1))
        ),
        "these are the weights; multiply them by the values.": (
            _wrong(weigh=lambda weights, value: weights)
        ),
    },
    cases=random_cases("... time d_k", "... time d_k", "... time d_v"),
)

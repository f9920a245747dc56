"""Masking: attention that sees no future, and the weights that a mask leaves."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from annotated_transformer.course.checking import Derivation, Exercise
from annotated_transformer.course.exercises.cases import normal, random_cases
from annotated_transformer.soft_lookup import masked_softmax


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
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Causal attention in which one of the steps is another."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = query @ key.mT / root(query, value)
        kept = scores.masked_fill(hidden(torch.ones_like(scores)) == 1, score)
        return weigh(kept.softmax(dim), value)

    return attend


causal_attention = Exercise(
    reference=_causal_attention,
    mistakes={
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
        "these are the weights; multiply them by the values.": (
            _wrong(weigh=lambda weights, value: weights)
        ),
    },
    cases=random_cases("... time d_k", "... time d_k", "... time d_v"),
)


def _through_the_mask(
    scores: Float[Tensor, " key"], mask: Bool[Tensor, " key"], values: Float[Tensor, " key"]
) -> tuple[Tensor, ...]:
    """What a mask does to the weights, and to the gradient of each score."""

    def masked(scores: Tensor) -> Tensor:
        return masked_softmax(scores[None], mask[None]).squeeze()

    def context(scores: Tensor) -> Tensor:
        return masked(scores) @ values

    weights, gradient = scores.softmax(0), torch.func.grad(context)(scores)
    return weights, (weights * mask).sum(), masked(scores), context(scores), gradient


def _by_formulas(
    divided: bool = True, all_seen: bool = False, shared: int = 1
) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, ...]]:
    """The same, with steps 3 or 5 wrong."""

    def steps(scores: Tensor, mask: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        weights = scores.softmax(0)
        seen = (weights * mask).sum()
        masked = weights * mask / seen
        context = masked @ values
        by_score = (weights if all_seen else masked) * (values - shared * context)
        return weights, seen, masked if divided else weights * mask, context, by_score

    return steps


through_the_mask = Derivation(
    reference=_through_the_mask,
    mistakes={
        "step 3 does not sum to 1: divide what is left by step 2.": _by_formulas(divided=False),
        "step 5 moves hidden scores, too: begin with the masked weight, which is 0 there.": (
            _by_formulas(all_seen=True)
        ),
        "step 5 lacks −c: a key that gains takes weight from all the others.": (
            _by_formulas(shared=0)
        ),
    },
    cases=[
        (normal(3, seed=0), torch.tensor([True, True, False]), normal(3, seed=1)),
        (
            normal(5, seed=2).float(),
            torch.tensor([True, False, True, True, False]),
            normal(5, seed=3).float(),
        ),
        (normal(4, seed=4), torch.tensor([False, True, True, True]), normal(4, seed=5)),
    ],
)

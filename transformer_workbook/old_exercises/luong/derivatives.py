"""Luong attention: how the query moves the context."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Derivation


def _by_the_query(
    s: Float[Tensor, " d_s"], memory: Float[Tensor, "src d_h"], W: Float[Tensor, "d_s d_h"]
) -> tuple[Tensor, Tensor, Tensor]:
    """The derivative of the context with respect to the query, in three steps."""

    def scores(s: Tensor) -> Tensor:
        return memory @ (s @ W)

    def context(scores: Tensor) -> Tensor:
        return scores.softmax(0) @ memory

    derivative = torch.func.jacrev
    whole = derivative(lambda s: context(scores(s)))(s)
    return derivative(scores)(s), derivative(context)(scores(s)), whole


def _by_formulas(
    of_scores: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda s, h, W: h @ W.mT,
    of_context: Callable[[Tensor, Tensor], Tensor] = lambda a, h: (a[:, None] * (h - a @ h)).mT,
    whole: Callable[..., Tensor] = lambda two, one, h, a: two @ one,
) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]:
    """The steps, with another formula for one of them; the last one follows from the others."""

    def steps(s: Tensor, h: Tensor, W: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weights = (h @ (s @ W)).softmax(0)
        one, two = of_scores(s, h, W), of_context(weights, h)
        return one, two, whole(two, one, h, weights)

    return steps


by_the_query = Derivation(
    reference=_by_the_query,
    given={
        "step 1 lacks W: the score is sᵀ W h, and its derivative is W h.": (
            _by_formulas(of_scores=lambda s, h, W: h)
        ),
        "step 1 is the scores themselves; their derivative has no s.": (
            _by_formulas(of_scores=lambda s, h, W: h @ (s @ W))
        ),
        "step 1 has the weights α_j; they come in with the softmax, in step 2.": (
            _by_formulas(of_scores=lambda s, h, W: (h @ (s @ W)).softmax(0)[:, None] * (h @ W.mT))
        ),
        "step 1 is not added up yet; the derivative of a product with s has no s.": (
            _by_formulas(of_scores=lambda s, h, W: h @ W.mT * s)
        ),
        "step 2 lacks what the other words lose when word j gains: subtract the context.": (
            _by_formulas(of_context=lambda a, h: (a[:, None] * h).mT)
        ),
        "step 2 lacks the weight α_j before the brackets.": (
            _by_formulas(of_context=lambda a, h: (h - a @ h).mT)
        ),
        "step 2 subtracts the plain mean of the words; c is their mean under the weights.": (
            _by_formulas(of_context=lambda a, h: (a[:, None] * (h - h.mean(0))).mT)
        ),
        "step 2 is the words alone; their weights change with the scores.": (
            _by_formulas(of_context=lambda a, h: h.mT)
        ),
        "step 2 has α_j (1 − α_j) h_j: the weights of the other words move, too.": (
            _by_formulas(of_context=lambda a, h: ((a * (1 - a))[:, None] * h).mT)
        ),
        "step 2 is how the weights move; the context is their sum of the words.": (
            _by_formulas(of_context=lambda a, h: a.diag() - a.outer(a))
        ),
        "step 2 multiplies by h_j once more: the brackets are the word less the context.": (
            _by_formulas(of_context=lambda a, h: (a[:, None] * h * (h - a @ h)).mT)
        ),
        "step 2 adds the context to each word; it is subtracted.": (
            _by_formulas(of_context=lambda a, h: (a[:, None] * (h + a @ h)).mT)
        ),
        "step 2 has 1 − α_j in the brackets, too; the context holds it already.": (
            _by_formulas(of_context=lambda a, h: ((a * (1 - a))[:, None] * (h - a @ h)).mT)
        ),
        "step 2 has α_j before the word alone; the context is multiplied by it, too.": (
            _by_formulas(of_context=lambda a, h: (a[:, None] * h - a @ h).mT)
        ),
        "step 2 lacks the word itself: α_j stands before h_j − c.": (
            _by_formulas(of_context=lambda a, h: (-a[:, None] * (a @ h)).mT)
        ),
        "step 3 has the weights α_j once more; they are in step 2 already.": (
            _by_formulas(whole=lambda two, one, h, a: (two * a) @ one)
        ),
        "step 3 has α_j in place of step 2: the context is missing there.": (
            _by_formulas(whole=lambda two, one, h, a: (a[:, None] * h).mT @ one)
        ),
        "step 3 lacks W: multiply step 2 by step 1.": (
            _by_formulas(whole=lambda two, one, h, a: two @ h)
        ),
        "step 3 lacks step 2: the scores move the context through the weights.": (
            _by_formulas(whole=lambda two, one, h, a: h.mT @ one)
        ),
        "step 3 has a product for every word; c moves by their sum.": (
            _by_formulas(whole=lambda two, one, h, a: two.mT[:, :, None] * one[:, None])
        ),
        "step 3 is the mean over the words; the chain rule adds them up.": (
            _by_formulas(whole=lambda two, one, h, a: two @ one / len(h))
        ),
    },
    cases=[
        (normal(2, seed=0), normal(3, 4, seed=1), normal(2, 4, seed=2)),
        (normal(4, seed=3).float(), normal(5, 3, seed=4).float(), normal(4, 3, seed=5).float()),
        (normal(5, seed=6), normal(4, 2, seed=7), normal(5, 2, seed=8)),
    ],
)

"""Bahdanau attention: what a single score does."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Derivation


def _by_one_score(
    scores: Float[Tensor, " key"], values: Float[Tensor, "key d"], j: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The weights, the context, and their derivatives with respect to one score."""

    def attend(scores: Tensor) -> tuple[Tensor, Tensor]:
        weights = scores.softmax(0)
        return weights, weights @ values

    of_weights, of_context = torch.func.jacrev(attend)(scores)
    return *attend(scores), of_weights[:, j], of_context[:, j]


Third = Callable[[Tensor, int], Tensor]
Fourth = Callable[[Tensor, Tensor, int], Tensor]


def _one(a: Tensor, j: int) -> Tensor:
    return torch.eye(len(a)).to(a)[j]


def _slopes(a: Tensor, j: int) -> Tensor:
    """The derivatives of the weights."""
    return a[j] * (_one(a, j) - a)


def _wrong(
    third: Third = _slopes,
    fourth: Fourth = lambda a, h, j: a[j] * (h[j] - a @ h),
    weigh: Callable[[Tensor], Tensor] = lambda e: e.softmax(0),
    order: tuple[int, ...] = (0, 1, 2, 3),
) -> Callable[[Tensor, Tensor, int], tuple[Tensor, ...]]:
    """The steps, if one is another; ``third`` and ``fourth`` get the weights."""

    def answer(e: Tensor, h: Tensor, j: int) -> tuple[Tensor, ...]:
        a = weigh(e)
        steps = a, a @ h, third(a, j), fourth(a, h, j)
        return tuple(steps[place] for place in order)

    return answer


THIRD: dict[str, Third] = {
    "is 0 for the others; they share a sum with α_j, and shrink": (
        lambda a, j: a * (1 - a) * _one(a, j)
    ),
    "changes every weight by its own score; e_j alone is raised": lambda a, j: a * (1 - a),
    "has −α_j (1 − α_i) for the others; it is −α_j α_i": (
        lambda a, j: a[j] * (1 - a) * (2 * _one(a, j) - 1)
    ),
    "lets the other weights grow; they shrink": (lambda a, j: (_slopes(a, j)).abs()),
    "has 1 − α_j for every weight; for the others it is −α_i": (
        lambda a, j: a[j] * (1 - a[j]) * torch.ones_like(a)
    ),
    "has −α_j (1 − α_j) for the others; it is −α_j α_i": (
        lambda a, j: a[j] * (1 - a[j]) * (2 * _one(a, j) - 1)
    ),
    "lacks the factor α_j": lambda a, j: _one(a, j) - a,
    "has −α_j² for the others; it is −α_j α_i": lambda a, j: a[j] * (_one(a, j) - a[j]),
    "lacks 1 − α_j for α_j itself; only the others lose": (
        lambda a, j: _slopes(a, j) + a[j] ** 2 * _one(a, j)
    ),
    "lacks α_j for α_j itself, where 1 − α_j stands alone": (
        lambda a, j: _slopes(a, j) * (1 - _one(a, j)) + (1 - a[j]) * _one(a, j)
    ),
    "has −α_j α_i for α_j itself, too; there it is α_j (1 − α_j)": lambda a, j: -a[j] * a,
    "is one number, that of α_j itself; all weights move": lambda a, j: a[j] * (1 - a[j]),
    "is α_j (1 − α_i) for every weight; for the others it is −α_j α_i": (
        lambda a, j: a[j] * (1 - a)
    ),
    "is α_i (1 − α_j) for every weight; for the others it is −α_j α_i": (
        lambda a, j: a * (1 - a[j])
    ),
    "is the product α_j α_i, also for α_j itself; a sign and a term are missing": (
        lambda a, j: a[j] * a
    ),
    "is 1 for α_j itself and 0 for the others; that is the change of the score": _one,
    "lacks α_j for the others, where −α_i stands alone": (
        lambda a, j: _slopes(a, j) * _one(a, j) - a * (1 - _one(a, j))
    ),
}
"""What the derivatives of the weights may be instead."""

FOURTH: dict[str, Fourth] = {
    "lacks what the other words lose when word j gains": lambda a, h, j: a[j] * h[j],
    "is the term of j alone; the sum has a term for every word": (
        lambda a, h, j: a[j] * (1 - a[j]) * h[j]
    ),
    "has no term of j; it gains what the others lose": (
        lambda a, h, j: -a[j] * (a @ h - a[j] * h[j])
    ),
    "lacks the factor α_j": lambda a, h, j: h[j] - a @ h,
    "adds the context to h_j; the distance between the two is asked for": (
        lambda a, h, j: a[j] * (h[j] + a @ h)
    ),
    "has the factor 1 − α_j, too; the bracket holds it already": (
        lambda a, h, j: a[j] * (1 - a[j]) * (h[j] - a @ h)
    ),
    "has α_j c below h_j; the whole context is subtracted": (
        lambda a, h, j: a[j] * (h[j] - a[j] * (a @ h))
    ),
    "is minus the context times α_j; the word j itself is missing": (
        lambda a, h, j: -a[j] * (a @ h)
    ),
    "is the value h_j itself": lambda a, h, j: h[j],
    "is the change of α_j alone, without a value": lambda a, h, j: a[j] * (1 - a[j]),
    "has the factor 1 − α_j in place of α_j": lambda a, h, j: (1 - a[j]) * (h[j] - a @ h),
    "has α_j before h_j alone; the context is multiplied by it, too": (
        lambda a, h, j: a[j] * h[j] - a @ h
    ),
    "has the other values in place of h_j": lambda a, h, j: a[j] * (h.sum(0) - h[j] - a @ h),
    "is by every score; one row is asked for": lambda a, h, j: a[:, None] * (h - a @ h),
    "adds up the plain values of the others; they have weights": (
        lambda a, h, j: a[j] * (2 * h[j] - h.sum(0))
    ),
    "is α_j (1 − c); what j gains has the value h_j": lambda a, h, j: a[j] * (1 - a @ h),
    "is not summed: these are the terms of all words": (lambda a, h, j: _slopes(a, j)[:, None] * h),
    "takes the plain mean of the words from h_j; the context is a weighted one": (
        lambda a, h, j: a[j] * (h[j] - h.mean(0))
    ),
}
"""What the derivative of the context may be instead."""


by_one_score = Derivation(
    reference=_by_one_score,
    given={
        **{f"step 3 {said}.": _wrong(third) for said, third in THIRD.items()},
        **{f"step 4 {said}.": _wrong(fourth=fourth) for said, fourth in FOURTH.items()},
        "step 1 has been overwritten in place, by the derivatives of step 3.": (
            _wrong(order=(2, 1, 2, 3))
        ),
        "these are the two derivatives alone; four steps are asked for.": _wrong(order=(2, 3)),
        "in step 1 the scores are divided by their sum; e to their power comes first.": (
            _wrong(weigh=lambda e: e / e.sum())
        ),
        "in step 1 each score goes through a sigmoid; the weights have to sum to 1.": (
            _wrong(weigh=torch.sigmoid)
        ),
        "in step 1 the scores themselves are the weights; they go through a softmax.": (
            _wrong(weigh=torch.clone)
        ),
        "step 1 is the logarithm of the weights.": _wrong(weigh=lambda e: e.log_softmax(0)),
        "in step 1 the exponentials are not divided by their sum.": _wrong(weigh=torch.exp),
    },
    cases=[
        (normal(4, seed=0), normal(4, 3, seed=1), 1),
        (normal(3, seed=2).float(), normal(3, 5, seed=3).float(), 0),
        (normal(5, seed=4), normal(5, 2, seed=5), 4),
    ],
)

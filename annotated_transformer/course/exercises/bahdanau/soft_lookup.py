"""Bahdanau attention: a dictionary that is looked up softly."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import (
    normal,
    random_cases,
)


def _context_vector(
    weights: Float[Tensor, "*batch query key"], values: Float[Tensor, "*batch key d"]
) -> Float[Tensor, "*batch query d"]:
    return weights @ values


context_vector = Exercise(
    reference=_context_vector,
    mistakes={
        "you take the plain mean of the values; the weights say how much of each.": (
            lambda w, v: torch.full_like(w, 1 / w.size(-1)) @ v
        ),
        "you take the one value with the largest weight; a soft lookup mixes all of them.": (
            lambda w, v: (w == w.amax(-1, keepdim=True)).to(v) @ v
        ),
        "a second softmax: these are weights already, and it makes them nearly equal.": (
            lambda w, v: w.softmax(-1) @ v
        ),
        "the sum over the keys is missing.": lambda w, v: w[..., None] * v[..., None, :, :],
        "you sum over the queries too; each has a context vector of its own.": (
            lambda w, v: (w @ v).sum(-2)
        ),
        "you divide by the number of keys; the weights sum to 1 already.": (
            lambda w, v: w @ v / w.size(-1)
        ),
        "the result is turned round: the queries come before d.": lambda w, v: (w @ v).mT,
        "this works for one sentence only; `...` stands for any axes before, such as the batch.": (
            torch.mm
        ),
        "this wants exactly three axes; `...` stands for any number of them, also none.": (
            torch.bmm
        ),
    },
    cases=[(scores.softmax(-1), v) for scores, v in random_cases("... query key", "... key d")],
)


def _attention_weights(
    scores: Float[Tensor, "batch query key"], mask: Bool[Tensor, "batch 1 key"]
) -> Float[Tensor, "batch query key"]:
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


attention_weights = Exercise(
    reference=_attention_weights,
    mistakes={
        "the mask is inverted: True means may attend.": (
            lambda e, mask: e.masked_fill(mask, -torch.inf).softmax(-1)
        ),
        "you forget the mask: padding gets weight.": lambda e, mask: e.softmax(-1),
        "you mask after the softmax; what is left no longer sums to 1.": (
            lambda e, mask: e.softmax(-1) * mask
        ),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1; it must be −∞.": (
            lambda e, mask: (e * mask).softmax(-1)
        ),
        "you add the mask to the scores: True is 1, so padding only gets a little less.": (
            lambda e, mask: (e + mask).softmax(-1)
        ),
        "the softmax goes over the queries; each query shares out 1 among the keys.": (
            lambda e, mask: e.masked_fill(~mask, -torch.inf).softmax(-2)
        ),
        "the softmax goes over all pairs of a sentence; each query shares out a 1 of its own.": (
            lambda e, mask: e.masked_fill(~mask, -torch.inf).flatten(1).softmax(-1).view_as(e)
        ),
        "the exponential is missing: you divide the scores themselves by their sum.": (
            lambda e, mask: e * mask / (e * mask).sum(-1, keepdim=True)
        ),
        "the exponentials are not divided by their sum.": lambda e, mask: e.exp() * mask,
        "these are still scores: the softmax is missing.": (
            lambda e, mask: e.masked_fill(~mask, -torch.inf)
        ),
        "0 · ∞ is nan: fill the places that are masked, instead of adding a product.": (
            lambda e, mask: (e + ~mask * -torch.inf).softmax(-1)
        ),
        "these are logarithms of the weights: softmax is asked for, not log_softmax.": (
            lambda e, mask: e.masked_fill(~mask, -torch.inf).log_softmax(-1)
        ),
    },
    cases=[
        (normal(2, 3, 4, seed=0), torch.tensor([[[1, 1, 0, 0]], [[1, 1, 1, 0]]]).bool()),
        (
            normal(3, 4, 2, seed=1, dtype=torch.float32),
            torch.tensor([[[1, 0]], [[0, 1]], [[1, 0]]]).bool(),
        ),
        (normal(2, 4, 3, seed=2), torch.tensor([[[1, 0, 1]], [[0, 1, 1]]]).bool()),
    ],
)


def _nadaraya_watson(
    query: Float[Tensor, " n"], keys: Float[Tensor, " m"], values: Float[Tensor, " m"], width: float
) -> Float[Tensor, " n"]:
    scores = -((query.unsqueeze(1) - keys) ** 2) / (2 * width**2)
    return scores.softmax(dim=1) @ values


def _squares(query: Tensor, keys: Tensor) -> Tensor:
    return (query[:, None] - keys) ** 2


nadaraya_watson = Exercise(
    reference=_nadaraya_watson,
    mistakes={
        "the width is not squared.": (
            lambda q, k, v, width: (-_squares(q, k) / (2 * width)).softmax(1) @ v
        ),
        "the half is missing: divide by 2 · width².": (
            lambda q, k, v, width: (-_squares(q, k) / width**2).softmax(1) @ v
        ),
        "you divide by 2 and then multiply by width²; put brackets around the whole divisor.": (
            lambda q, k, v, width: (-_squares(q, k) / 2 * width**2).softmax(1) @ v
        ),
        "the distance is not squared: near and far keys differ too little.": (
            lambda q, k, v, width: (-_squares(q, k).sqrt() / (2 * width**2)).softmax(1) @ v
        ),
        "the minus is missing: the farthest key counts most.": (
            lambda q, k, v, width: (_squares(q, k) / (2 * width**2)).softmax(1) @ v
        ),
        "the weights of a query must sum to 1; yours sum to 1 over the queries.": (
            lambda q, k, v, width: (-_squares(q, k) / (2 * width**2)).softmax(0) @ v
        ),
        "the weights are not divided by their sum.": (
            lambda q, k, v, width: (-_squares(q, k) / (2 * width**2)).exp() @ v
        ),
        "you take a softmax of the kernel: it has its exponential already; divide by its sum.": (
            lambda q, k, v, width: (-_squares(q, k) / (2 * width**2)).exp().softmax(1) @ v
        ),
        "you divide by the sum over all queries; each query has a sum of its own.": (
            lambda q, k, v, width: (
                (-_squares(q, k) / (2 * width**2)).flatten().softmax(0).view(len(q), len(k)) @ v
            )
        ),
        "you divide by the number of keys, not by the sum of their weights.": (
            lambda q, k, v, width: (-_squares(q, k) / (2 * width**2)).exp() @ v / len(k)
        ),
        "you take the value of the nearest key; all keys have a say.": (
            lambda q, k, v, width: v[_squares(q, k).argmin(1)]
        ),
        "you take the plain mean; near keys must count more.": (
            lambda q, k, v, width: v.mean().expand_as(q)
        ),
    },
    cases=[
        (normal(2, seed=0), normal(3, seed=1), normal(3, seed=2), 0.5),
        (*(normal(n, seed=n, dtype=torch.float32) for n in (4, 3)), normal(3, seed=5).float(), 1.5),
        (normal(4, seed=6), normal(6, seed=7), normal(6, seed=8), 0.8),
    ],
)

"""Bahdanau attention: a dictionary that is looked up softly."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


def _attention_weights(
    scores: Float[Tensor, "batch query key"], mask: Bool[Tensor, "batch 1 key"]
) -> Float[Tensor, "batch query key"]:
    """The weights of every query, from scores and a mask."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


def _masked(fill: float = -torch.inf, dim: int = -1) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda e, mask: e.masked_fill(~mask, fill).softmax(dim)


attention_weights = Exercise(
    reference=_attention_weights,
    given={
        "the weights of a key sum to 1 over the queries; each query shares out 1 among the keys.": (
            _masked(-1e9, dim=-2)
        ),
        "a masked key has nan: the softmax goes over the queries, and must go over the keys.": (
            _masked(dim=-2)
        ),
        "this softmax goes over the sentences; each query shares out 1 among the keys.": (
            _masked(dim=0)
        ),
        "the softmax goes over all pairs of a sentence; each query shares out a 1 of its own.": (
            lambda e, mask: e.masked_fill(~mask, -torch.inf).flatten(1).softmax(-1).view_as(e)
        ),
        "this divides by the sum over the whole batch; each query shares out a 1 of its own.": (
            lambda e, mask: e.exp() * mask / (e.exp() * mask).sum()
        ),
        "the softmax goes over the queries, and the mask comes after it: both the other way.": (
            lambda e, mask: e.softmax(-2) * mask
        ),
        "the mask is inverted: True means may attend.": lambda e, mask: _masked()(e, ~mask),
        "these are shares among the queries, without the mask; share out 1 among the open keys.": (
            lambda e, mask: e.softmax(-2)
        ),
        "keys that are masked get weight: these weights do not depend on the mask.": (
            lambda e, mask: e.softmax(-1)
        ),
        "masked after the softmax: what is left no longer sums to 1.": (
            lambda e, mask: e.softmax(-1) * mask
        ),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1; it must be −∞.": _masked(0.0),
        "a masked key still gets weight: −10 is too close to the scores; it must be −∞.": (
            _masked(-10.0)
        ),
        "a masked key still gets weight: −1 is too close to the scores; it must be −∞.": (
            _masked(-1.0)
        ),
        "the masked keys share out everything: their scores must be −∞, not very large.": (
            _masked(1e9)
        ),
        "these are still scores, 0 where masked: the softmax is missing.": lambda e, mask: e * mask,
        "these are still scores, −1e9 where masked: the softmax is missing.": (
            lambda e, mask: e.masked_fill(~mask, -1e9)
        ),
        "masked keys are not in the sum, but still get weight.": (
            lambda e, mask: e.exp() / (e.exp() * mask).sum(-1, keepdim=True)
        ),
        "the largest weight is 1: the exponentials are divided by the largest, not by their sum.": (
            lambda e, mask: _masked()(e, mask) / _masked()(e, mask).amax(-1, keepdim=True)
        ),
        "every open key gets the same weight; the scores decide.": (
            lambda e, mask: (mask / mask.sum(-1, keepdim=True)).to(e).expand_as(e)
        ),
        "the mask is added to the scores: True is 1, so a masked key only gets a little less.": (
            lambda e, mask: (e + mask).softmax(-1)
        ),
        "these are shares of the scores themselves; the exponential is missing.": (
            lambda e, mask: e * mask / (e * mask).sum(-1, keepdim=True)
        ),
        "the exponentials are not divided by their sum.": lambda e, mask: e.exp() * mask,
        "these are still scores: the softmax is missing.": (
            lambda e, mask: e.masked_fill(~mask, -torch.inf)
        ),
        "everything is nan, for 0 · ∞ is: fill masked places instead of adding a product.": (
            lambda e, mask: (e + ~mask * -torch.inf).softmax(-1)
        ),
        "these are logarithms of the weights: softmax is asked for, not log_softmax.": (
            lambda e, mask: _masked()(e, mask).log()
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

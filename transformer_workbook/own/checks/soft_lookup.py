"""Checks of soft lookup."""

from typing import Any

import torch
from torch import Tensor

from transformer_workbook.own.checks.check import Check, drawn, gradient, softmax

SCORES = drawn("scores", 2, 3, 4)
MASK = torch.tensor([[[1, 0, 1, 1]] * 3, [[1, 1, 0, 0], [0, 0, 0, 0], [0, 1, 1, 1]]]).bool()
QUERY, MEMORY, VALUE = drawn("query", 2, 3, 5), drawn("memory", 2, 4, 5), drawn("value", 2, 4, 6)


def weights_by_hand(scores: Tensor, mask: Tensor) -> Tensor:
    """Compute a softmax over the allowed keys, in a loop; 0 where there are none."""
    weights = torch.zeros_like(scores)
    for place in torch.cartesian_prod(*map(torch.arange, scores.shape[:-1])).tolist():
        keys = mask.expand_as(scores)[tuple(place)].nonzero()[:, 0].tolist()
        for key, weight in zip(
            keys, softmax([float(scores[(*place, key)]) for key in keys]), strict=True
        ):
            weights[(*place, key)] = weight
    return weights


EVERY = torch.ones(1, 1, 4, dtype=torch.bool)


def _dot(m: Any) -> Any:
    class Dot(m.SoftLookup):  # type: ignore[misc]
        def scores(self, query: Tensor, key: Tensor) -> Tensor:
            return query @ key.mT

    return Dot()


def _softmax_by_hand() -> Tensor:
    weights = weights_by_hand(SCORES, MASK)
    towards = 2 * weights
    return weights * (towards - (weights * towards).sum(-1, keepdim=True))


CHECKS = (
    Check(
        "masked_softmax",
        "masked_softmax of scores (2, 3, 4) without a mask",
        lambda m: m.masked_softmax(SCORES),
        lambda: weights_by_hand(SCORES, EVERY),
    ),
    Check(
        "masked_softmax",
        "masked_softmax where every query may attend to something",
        lambda m: m.masked_softmax(SCORES[:1], MASK[:1]),
        lambda: weights_by_hand(SCORES[:1], MASK[:1]),
    ),
    Check(
        "masked_softmax",
        "masked_softmax where a query may attend to nothing",
        lambda m: m.masked_softmax(SCORES, MASK),
        lambda: weights_by_hand(SCORES, MASK),
    ),
    Check(
        "masked_softmax",
        "masked_softmax of scores that are all near 4,000, and all near -4,000, with a mask",
        lambda m: [m.masked_softmax(SCORES + far, MASK) for far in (4000, -4000)],
        lambda: [weights_by_hand(SCORES, MASK)] * 2,
    ),
    Check(
        "SoftLookup",
        "the keys of a SoftLookup: the memory itself",
        lambda m: _dot(m).keys(MEMORY),
        lambda: MEMORY,
    ),
    Check(
        "SoftLookup",
        "the weights of a SoftLookup whose scores are dot products, with a mask",
        lambda m: _dot(m).weights(QUERY, MEMORY, MASK),
        lambda: weights_by_hand(QUERY @ MEMORY.mT, MASK),
    ),
    Check(
        "SoftLookup",
        "what a SoftLookup whose scores are dot products finds, with a mask",
        lambda m: _dot(m)(QUERY, MEMORY, VALUE, MASK),
        lambda: weights_by_hand(QUERY @ MEMORY.mT, MASK) @ VALUE,
    ),
    Check(
        "masked_softmax",
        "the gradient by the scores of the sum of squares, where a query may attend to nothing",
        lambda m: gradient(lambda x: m.masked_softmax(x, MASK), SCORES),
        _softmax_by_hand,
    ),
)

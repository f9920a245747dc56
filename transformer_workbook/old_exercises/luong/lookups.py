"""Luong attention: what goes wrong between the scores and the output of any soft lookup."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Weigh = Callable[[Tensor], Tensor]
Lookup = Callable[[Tensor, Tensor], Any]

WEIGHINGS: dict[str, Weigh] = {
    "the softmax is missing: these weights do not sum to 1.": lambda e: e,
    "these weights do not sum to 1: divide the exponentials by their sum.": torch.exp,
    "the scores are divided by their sum; a softmax takes the exponentials first.": (
        lambda e: e / e.sum(-1, keepdim=True)
    ),
    "these weights are logarithms, from log_softmax; they do not sum to 1.": (
        lambda e: e.log_softmax(-1)
    ),
    "each weight is a sigmoid of its own; a softmax makes them sum to 1.": torch.sigmoid,
    "the softmax is taken twice.": lambda e: e.softmax(-1).softmax(-1),
    "the most similar key gets the least weight: the scores have the wrong sign.": (
        lambda e: (-e).softmax(-1)
    ),
    "the best key has all the weight; a soft lookup mixes all of them.": (
        lambda e: F.one_hot(e.argmax(-1), e.size(-1)).to(e)
    ),
    "this is the plain mean of the values: every key has the same weight.": lambda e: (
        0 * e
    ).softmax(-1),
    "this is the plain sum of the values: every key has the weight 1.": torch.ones_like,
}
"""What makes weights of scores that are no softmax over the keys, the last axis."""


ROW_WEIGHINGS: dict[str, Weigh] = {
    **WEIGHINGS,
    "the softmax goes over the queries; each query shares out 1 among the keys.": (
        lambda e: e.softmax(-2)
    ),
    "the softmax goes over all pairs; each query shares out a 1 of its own.": (
        lambda e: e.flatten(-2).softmax(-1).view_as(e)
    ),
    "a query sees the keys up to its own place only; here it may see all.": (
        lambda e: e.masked_fill(torch.ones_like(e).triu(1) > 0, -torch.inf).softmax(-1)
    ),
}
"""The same, and more, of scores that have an axis of queries before it."""


def _weighed(weigh: Weigh) -> Lookup:
    return lambda e, values: weigh(e) @ values


OUTPUTS: dict[str, Lookup] = {
    "these are the scores; a softmax and the values come after them.": lambda e, values: e,
    "these are the weights; the output is the sum of the values with them.": (
        lambda e, values: e.softmax(-1)
    ),
    "the weights are returned, too; the output alone is asked for.": (
        lambda e, values: (e.softmax(-1) @ values, e.softmax(-1))
    ),
    "the weights are returned, too, and first; the output alone is asked for.": (
        lambda e, values: (e.softmax(-1), e.softmax(-1) @ values)
    ),
    "the softmax comes after the sum over the values; it belongs to the scores, before it.": (
        lambda e, values: (e @ values).softmax(-1)
    ),
    "a second softmax makes shares of the output; only the scores get one.": (
        lambda e, values: (e.softmax(-1) @ values).softmax(-1)
    ),
    "this is the mean of the weighted values; with weights that sum to 1, add them up.": (
        lambda e, values: e.softmax(-1) @ values / e.size(-1)
    ),
}

LOOKUPS = {sentence: _weighed(weigh) for sentence, weigh in WEIGHINGS.items()} | OUTPUTS
ROW_LOOKUPS = {sentence: _weighed(weigh) for sentence, weigh in ROW_WEIGHINGS.items()} | OUTPUTS
"""What makes a result of scores and values that is not their soft lookup, for one query or rows."""

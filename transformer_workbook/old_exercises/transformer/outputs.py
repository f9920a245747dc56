"""The whole Transformer: its logits, and what they cost before it has learned."""

import math
from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.exercises.cases import normal, random_cases
from transformer_workbook.judge.comparing import is_number, show
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.old_question import Question, by_number


def _tied_logits(
    x: Float[Tensor, "batch t d"], E: Float[Tensor, "vocab d"]
) -> Float[Tensor, "batch t vocab"]:
    """Give the logits of a model with tied weights."""
    return x @ E.mT


tied_logits = Exercise(
    reference=_tied_logits,
    given={
        "these are probabilities; the logits are asked for, before the softmax.": (
            lambda x, E: (x @ E.T).softmax(-1)
        ),
        "these are logarithms of probabilities; the logits are asked for.": (
            lambda x, E: (x @ E.T).log_softmax(-1)
        ),
        "you multiply by √d; only the embedding is multiplied, not the logits.": (
            lambda x, E: x @ E.T * E.size(1) ** 0.5
        ),
        "you divide by √d; that belongs to the scores of attention.": (
            lambda x, E: x @ E.T / E.size(1) ** 0.5
        ),
        "you bring the vectors to length 1; the plain dot products are asked for.": (
            lambda x, E: F.normalize(x, dim=-1) @ F.normalize(E, dim=-1).T
        ),
        "you bring the embeddings to length 1; the plain dot products are asked for.": (
            lambda x, E: x @ F.normalize(E, dim=-1).T
        ),
        "the logits of the last position alone; every position has a next word.": (
            lambda x, E: x[:, -1] @ E.T
        ),
        "the logits of the last position alone, with its axis; every position has a next word.": (
            lambda x, E: x[:, -1:] @ E.T
        ),
        "the logits of the first position alone; every position has a next word.": (
            lambda x, E: x[:, 0] @ E.T
        ),
        "the logits of the first position alone, with its axis; all have a next word.": (
            lambda x, E: x[:, :1] @ E.T
        ),
        "these are the logits of the mean of all positions; each has its own.": (
            lambda x, E: x.mean(1) @ E.T
        ),
        "you bring what the decoder gives to length 1; the plain dot products are asked for.": (
            lambda x, E: F.normalize(x, dim=-1) @ E.T
        ),
        "you normalise what the decoder gives; the plain dot products are asked for.": (
            lambda x, E: F.layer_norm(x, x.shape[-1:]) @ E.T
        ),
        "these are shares over the positions; the logits are asked for, before any softmax.": (
            lambda x, E: (x @ E.T).softmax(1)
        ),
        "you divide by d; the plain dot products are asked for.": lambda x, E: x @ E.T / E.size(1),
        "you multiply by d; the plain dot products are asked for.": lambda x, E: (
            x @ E.T * E.size(1)
        ),
        "these are only the numbers of the best words; one for every word is asked for.": (
            lambda x, E: (x @ E.T).amax(-1)
        ),
        "these are the best words; a number for every word is asked for.": (
            lambda x, E: (x @ E.T).argmax(-1)
        ),
        "the axes are swapped: the words of the vocabulary stand on the last one.": (
            lambda x, E: E @ x.mT
        ),
        "the sum is missing: a dot product adds up its d products.": (
            lambda x, E: x[:, :, None] * E
        ),
        "the table is reshaped, not transposed: its numbers stand in other places.": (
            lambda x, E: x @ E.reshape(E.size(1), E.size(0))
        ),
        "these are sigmoids; the logits are asked for, before any such function.": (
            lambda x, E: (x @ E.T).sigmoid()
        ),
        "these are distances from the embeddings; the dot products are asked for.": (
            lambda x, E: torch.cdist(x, E.expand(len(x), -1, -1))
        ),
        "negative logits are cut off at 0; the plain dot products are asked for.": (
            lambda x, E: (x @ E.T).relu()
        ),
    },
    cases=random_cases("batch t d", "vocab d"),
)


def _error(v: float, vocab: int = 148) -> float:
    """By how many nats ln V + v/2 is too much for random logits of this variance."""
    z = normal(2000, vocab, seed=0)
    paid = (v**0.5 * z).logsumexp(dim=1) - v**0.5 * z.mean(dim=1)
    return math.log(vocab) + v / 2 - float(paid.mean())


@cache
def _limit(nats: float = 1.0) -> float:
    """The variance of random logits at which ln V + v/2 is too much by so many nats."""
    low, high = 1.0, 100.0
    while high - low > 0.01:
        v = (low + high) / 2
        low, high = (low, v) if _error(v) > nats else (v, high)
    return low


@Question
def first_loss_limit(answer: Any) -> str:
    """At which variance of the logits is the rule for the first loss wrong by a nat?"""
    limit = _limit()
    replies = {
        limit**0.5: "this is the root of it: a variance v makes numbers √v times as large.",
        2 * limit: "this is twice it; the variance itself is asked for.",
        3: "this is about the root of it: a variance v makes numbers √v times as large.",
        limit / 2: "this is half of it; the variance itself is asked for, not v/2.",
        _limit(nats=0.5): "here the rule is wrong by half a nat; a whole one is asked for.",
        _limit(nats=math.log(2)): "here the rule is wrong by one bit, ln 2; a nat is asked for.",
        _limit(nats=2.0): "here the rule is wrong by two nats; one is asked for.",
        math.log(148): "this is about ln V; the variance at which the rule fails is asked for.",
        math.log2(
            148
        ): "this is about V's logarithm to base 2; the rule is in nats, and v is asked for.",
        1: "here the rule still holds, to a hundredth of a nat.",
        2: "here v/2 is a nat; the rule's error is to be one, and still is small here.",
        limit**2: "this is the square of it: v is the variance already.",
        20: "here the rule is wrong by more than two nats; one is asked for.",
        64: "this is the variance of the loud model; there the rule is off by more than ten nats.",
    }
    said = by_number(answer, limit, replies, within=0.06)
    if is_number(answer) and said.startswith(show(float(answer))) and 0 < answer < 1000:
        return f"with v = {show(float(answer))} the rule is wrong by {_error(answer):.2g} nats."
    return said

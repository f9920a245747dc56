"""Tokens and batches: tokens are counted and shifted, surprises are averaged."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal
from annotated_transformer.tokens import BOS, EOS, PAD


def _count_tokens(ids: Int[Tensor, "batch length"]) -> Int[Tensor, " batch"]:
    return (ids != PAD).sum(dim=-1)


count_tokens = Exercise(
    reference=_count_tokens,
    mistakes={
        "you count padding too.": lambda ids: torch.full((len(ids),), ids.size(1)),
        "you count the padding instead of the tokens.": lambda ids: (ids == PAD).sum(1),
        "you count over the sentences; sum along the last axis.": lambda ids: (ids != PAD).sum(0),
        "you add up the ids; compare them with PAD first.": lambda ids: ids.sum(1),
        "you give one number for the whole batch.": lambda ids: (ids != PAD).sum(),
    },
    cases=[(pad([[5, 6, 4], [7]]),), (pad([[4], [9, 8, 2, 5], [6, 2]]),)],
)


def _shift(sentence: list[int]) -> tuple[list[int], list[int]]:
    return [BOS, *sentence], [*sentence, EOS]


shift = Exercise(
    reference=_shift,
    mistakes={
        "the two are not shifted: the decoder would read the word that it must say.": (
            lambda y: ([BOS, *y, EOS], [BOS, *y, EOS])
        ),
        "EOS is missing: the model would never learn to stop.": lambda y: ([BOS, *y], y),
        "you swapped the two.": lambda y: ([*y, EOS], [BOS, *y]),
        "BOS is missing: at the first word the decoder has nothing to read.": (
            lambda y: (y, [*y, EOS])
        ),
        "tgt_in ends in EOS; nothing is asked after it, so it is not read.": (
            lambda y: ([BOS, *y, EOS], [*y, EOS])
        ),
    },
    cases=[([5, 6],), ([7, 8, 9],), ([4],)],
)


def _perplexity_of_two(first: list[float], second: list[float]) -> float:
    surprises = first + second
    return math.exp(sum(surprises) / len(surprises))


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


perplexity_of_two = Exercise(
    reference=_perplexity_of_two,
    mistakes={
        "you average two perplexities; average the surprises of all tokens first.": (
            lambda a, b: (math.exp(_mean(a)) + math.exp(_mean(b))) / 2
        ),
        "you average two means: a token of the shorter sentence counts more.": (
            lambda a, b: math.exp((_mean(a) + _mean(b)) / 2)
        ),
        "this is the cross-entropy; the perplexity is its exponential.": lambda a, b: _mean(a + b),
        "this uses the total surprise; divide by the number of tokens.": (
            lambda a, b: math.exp(sum(a + b))
        ),
        "the surprises are natural logarithms: take powers of e, not of 2.": (
            lambda a, b: 2 ** _mean(a + b)
        ),
    },
    cases=[([1.0, 2.0], [3.0]), ([0.5], [0.1, 0.2, 0.3]), ([2.0, 0.0, 1.0], [4.0, 1.5])],
)


def _mean_surprise(
    logits: Float[Tensor, "batch length vocab"], target: Int[Tensor, "batch length"]
) -> Float[Tensor, ""]:
    return _surprise(logits, target)[target != PAD].mean()


def _surprise(
    logits: Float[Tensor, "batch length vocab"], target: Int[Tensor, "batch length"]
) -> Float[Tensor, "batch length"]:
    return -logits.log_softmax(dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)


mean_surprise = Exercise(
    reference=_mean_surprise,
    mistakes={
        "the padding is set to 0 but still counted: the mean is too low.": (
            lambda z, y: (_surprise(z, y) * (y != PAD)).mean()
        ),
        "padding is learned like a word.": lambda z, y: _surprise(z, y).mean(),
        "this is the sum; divide by the number of real tokens.": (
            lambda z, y: _surprise(z, y)[y != PAD].sum()
        ),
        "you divide by the number of sentences, not of tokens.": (
            lambda z, y: _surprise(z, y)[y != PAD].sum() / len(y)
        ),
        "this is the surprise at the padding.": lambda z, y: _surprise(z, y)[y == PAD].mean(),
    },
    cases=[
        (normal(2, 4, 8, seed=0), pad([[5, 2], [3, 6, 7, 2]])),
        (normal(3, 2, 8, seed=1, dtype=torch.float32), pad([[2], [4, 2], [5, 2]])),
    ],
)

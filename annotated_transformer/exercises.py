"""The exercises of the book, in the order of its chapters."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.checking import Exercise
from annotated_transformer.tokens import BOS, EOS, PAD

# Chapter 1: tokens and batches

count_tokens = Exercise(
    reference=lambda ids: (ids != PAD).sum(1),
    mistakes={
        "you count padding too.": lambda ids: torch.full((len(ids),), ids.size(1)),
        "you count the padding instead of the tokens.": lambda ids: (ids == PAD).sum(1),
        "you count over the sentences; sum along the last axis.": lambda ids: (ids != PAD).sum(0),
        "you add up the ids; compare them with PAD first.": lambda ids: ids.sum(1),
        "you give one number for the whole batch.": lambda ids: (ids != PAD).sum(),
    },
    cases=[(pad([[5, 6], [7]]),), (pad([[4], [9, 8, 2, 5], [6, 2]]),)],
)

shift = Exercise(
    reference=lambda y: ([BOS, *y], [*y, EOS]),
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


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


perplexity_of_two = Exercise(
    reference=lambda a, b: math.exp(_mean(a + b)),
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


def _surprise(logits: Tensor, target: Tensor) -> Tensor:
    return -logits.log_softmax(-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)


def _random_logits(target: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*target.shape, 8, generator=generator), target


mean_surprise = Exercise(
    reference=lambda z, y: _surprise(z, y)[y != PAD].mean(),
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
        _random_logits(torch.tensor([[5, 2, 0, 0], [3, 6, 7, 2]]), seed=0),
        _random_logits(torch.tensor([[2, 0], [4, 2], [5, 2]]), seed=1),
    ],
)

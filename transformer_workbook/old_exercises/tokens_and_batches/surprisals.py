"""Tokens and batches: means of surprisals, and perplexities."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.tokens import EOS, PAD
from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


def _perplexity_of_two(first: list[float], second: list[float]) -> float:
    """What is the perplexity over all tokens of two sentences?"""
    surprisals = first + second
    return math.exp(sum(surprisals) / len(surprisals))


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _perplexity(surprisals: list[float]) -> float:
    return math.exp(_mean(surprisals))


perplexity_of_two = Exercise(
    reference=_perplexity_of_two,
    given={
        "this is the mean of two perplexities; take the mean of all surprisals first.": (
            lambda a, b: _mean([_perplexity(a), _perplexity(b)])
        ),
        "this comes from the mean of two means: tokens of the shorter sentence weigh more.": (
            lambda a, b: _perplexity([_mean(a), _mean(b)])
        ),
        "this is the cross-entropy; the perplexity is its exponential.": lambda a, b: _mean(a + b),
        "this uses the total surprisal; divide by the number of tokens.": (
            lambda a, b: math.exp(sum(a + b))
        ),
        "the total is divided by the number of sentences; divide by the number of tokens.": (
            lambda a, b: math.exp(sum(a + b) / 2)
        ),
        "this is a power of 2; the surprisals are natural logarithms.": (
            lambda a, b: 2 ** _mean(a + b)
        ),
        "this is the mean of exponentials; take the exponential of the mean.": (
            lambda a, b: _mean([*map(math.exp, a + b)])
        ),
        "the perplexities are weighted by length; take the mean of the surprisals instead.": (
            lambda a, b: _mean([_perplexity(a)] * len(a) + [_perplexity(b)] * len(b))
        ),
        "one sign is too many: a surprisal is −log p already.": lambda a, b: 1 / _perplexity(a + b),
        "the two perplexities are added.": lambda a, b: _perplexity(a) + _perplexity(b),
        "the two perplexities are multiplied.": lambda a, b: _perplexity(a) * _perplexity(b),
        "this is the perplexity of the first sentence alone.": lambda a, b: _perplexity(a),
    },
    cases=[([1.0, 2.0], [3.0]), ([0.5], [0.1, 0.2, 0.3]), ([2.0, 0.0, 1.0], [4.0, 1.5])],
)


def _mean_surprisal(
    logits: Float[Tensor, "batch length vocab"], target: Int[Tensor, "batch length"]
) -> Float[Tensor, ""]:
    """What is the mean surprisal per real token?"""
    return _surprisals(logits, target)[target != PAD].mean()


def _surprisals(logits: Tensor, target: Tensor, dim: int = -1) -> Tensor:
    return -_picked(logits.log_softmax(dim), target)


def _picked(scores: Tensor, target: Tensor) -> Tensor:
    return scores.gather(-1, target[..., None])[..., 0]


def _other(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """The mean over the real tokens of something else than surprisals of the logits."""
    return lambda z, y: _picked(change(z), y)[y != PAD].mean()


mean_surprisal = Exercise(
    reference=_mean_surprisal,
    given={
        "the padding is set to 0 but still counted: the mean is too low.": (
            lambda z, y: (_surprisals(z, y) * (y != PAD)).mean()
        ),
        "padding counts like a word, in the sum and in the number.": (
            lambda z, y: _surprisals(z, y).mean()
        ),
        "the sum runs over the padding, too; only the number leaves it out.": (
            lambda z, y: _surprisals(z, y).sum() / (y != PAD).sum()
        ),
        "this is the sum; divide by the number of real tokens.": (
            lambda z, y: _surprisals(z, y)[y != PAD].sum()
        ),
        "the sum is divided by the number of sentences, not of tokens.": (
            lambda z, y: _surprisals(z, y)[y != PAD].sum() / len(y)
        ),
        "this is the mean of the sentences' means: tokens of short sentences weigh more.": (
            lambda z, y: ((_surprisals(z, y) * (y != PAD)).sum(1) / (y != PAD).sum(1)).mean()
        ),
        "these are the sentences' own means; one mean over all tokens is asked for.": (
            lambda z, y: (_surprisals(z, y) * (y != PAD)).sum(1) / (y != PAD).sum(1)
        ),
        "this is the surprisal at the padding.": lambda z, y: _surprisals(z, y)[y == PAD].mean(),
        "the mask is turned round: the sum runs over the padding alone.": (
            lambda z, y: (_surprisals(z, y) * (y == PAD)).sum() / (y != PAD).sum()
        ),
        "the sum is divided by the number of padded places, not of real tokens.": (
            lambda z, y: _surprisals(z, y)[y != PAD].sum() / (y == PAD).sum()
        ),
        "the sum is divided by the length of the rows, not by the number of real tokens.": (
            lambda z, y: _surprisals(z, y)[y != PAD].sum() / y.size(1)
        ),
        "EOS is left out with the padding; the model has to say it, too.": (
            lambda z, y: _surprisals(z, y)[y > EOS].mean()
        ),
        "the softmax runs over the positions; it has to run over the vocabulary.": (
            lambda z, y: _surprisals(z, y, dim=1)[y != PAD].mean()
        ),
        "the softmax runs over the sentences; it has to run over the vocabulary.": (
            lambda z, y: _surprisals(z, y, dim=0)[y != PAD].mean()
        ),
        "the sign is missing: this is the mean of log p.": _other(lambda z: z.log_softmax(-1)),
        "this is minus the mean probability; the logarithm is missing.": (
            _other(lambda z: -z.softmax(-1))
        ),
        "this is minus the mean logit; the softmax is missing.": _other(Tensor.neg),
        "the softmax is taken twice.": _other(lambda z: -z.softmax(-1).log_softmax(-1)),
        "the surprisals are in bits; ours are natural logarithms.": (
            _other(lambda z: -z.softmax(-1).log2())
        ),
        "this is the perplexity; the mean surprisal is its logarithm.": (
            lambda z, y: _mean_surprisal(z, y).exp()
        ),
    },
    cases=[
        (normal(2, 4, 8, seed=0), pad([[5, 2], [3, 6, 7, 2]])),
        (normal(3, 2, 8, seed=1, dtype=torch.float32), pad([[2], [4, 2], [5, 2]])),
    ],
)

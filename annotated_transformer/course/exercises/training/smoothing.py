"""Training: the targets of label smoothing, and what they ask of the logits."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.course.checking import Derivation, Exercise
from annotated_transformer.course.exercises.cases import normal


def _smoothed_targets(
    target: Int[Tensor, " tokens"], vocab: int, smoothing: float
) -> Float[Tensor, "tokens vocab"]:
    """The smoothed targets of some tokens, a row for each."""
    return (1 - smoothing) * F.one_hot(target, vocab) + smoothing / vocab


def _two_shares(target: Tensor, vocab: int, right: float, other: float) -> Tensor:
    """One share for the right token, and one for every other."""
    return torch.where(F.one_hot(target, vocab) == 1, right, other)


smoothed_targets = Exercise(
    reference=_smoothed_targets,
    mistakes={
        "these are one-hot targets; the share ε is not given away.": (
            lambda y, V, s: _two_shares(y, V, 1.0, 0.0)
        ),
        "the rows do not sum to 1: the right token keeps all it had; take (1 − ε) of it.": (
            lambda y, V, s: _two_shares(y, V, 1 + s / V, s / V)
        ),
        "here ε goes to the other tokens only; all V share it, the right one too.": (
            lambda y, V, s: _two_shares(y, V, 1 - s, s / (V - 1))
        ),
        "the rows do not sum to 1: the right token gets its part of ε, too.": (
            lambda y, V, s: _two_shares(y, V, 1 - s, s / V)
        ),
        "the rows do not sum to 1: ε is divided by V − 1, but all V get a part.": (
            lambda y, V, s: _two_shares(y, V, 1 - s + s / (V - 1), s / (V - 1))
        ),
        "here ε is shared by V − 2 tokens; all V share it.": (
            lambda y, V, s: _two_shares(y, V, 1 - s, s / (V - 2))
        ),
        "each of the V tokens gets the whole ε; they have to share it.": (
            lambda y, V, s: _two_shares(y, V, 1.0, s)
        ),
        "ε and 1 − ε are swapped.": (
            lambda y, V, s: _two_shares(y, V, s + (1 - s) / V, (1 - s) / V)
        ),
        "here ε is divided by the number of targets; divide it by the size of the vocabulary.": (
            lambda y, V, s: _two_shares(y, V, 1 - s + s / len(y), s / len(y))
        ),
        "this is transposed: a row for each target is asked for.": (
            lambda y, V, s: _smoothed_targets(y, V, s).T
        ),
    },
    cases=[
        (torch.tensor([2, 0, 4]), 5, 0.1),
        (torch.tensor([1, 1, 6]), 8, 0.4),
        (torch.tensor([5, 3, 0]), 6, 0.25),
    ],
)


def _smoothed_gradient(
    logits: Float[Tensor, " vocab"], right: int, smoothing: float
) -> tuple[Tensor, Tensor, Tensor, float]:
    """The gradient of the smoothed loss by the logits, in four steps."""
    vocab, p = len(logits), logits.softmax(dim=-1)
    of_right = p - F.one_hot(torch.tensor(right), vocab)
    of_everyone = p - 1 / vocab
    of_loss = (1 - smoothing) * of_right + smoothing * of_everyone
    gap = math.log((1 - smoothing + smoothing / vocab) / (smoothing / vocab))
    return of_right, of_everyone, of_loss, gap


def _descent(logits: Tensor, right: int, smoothing: float) -> tuple[Tensor, Tensor, Tensor, float]:
    a, b, c, gap = _smoothed_gradient(logits, right, smoothing)
    return -a, -b, -c, gap


def _without_own_part(
    logits: Tensor, right: int, smoothing: float
) -> tuple[Tensor, Tensor, Tensor, float]:
    gap = math.log((1 - smoothing) * len(logits) / smoothing)
    return *_smoothed_gradient(logits, right, smoothing)[:3], gap


smoothed_gradient = Derivation(
    reference=_smoothed_gradient,
    mistakes={
        "the three gradients have the wrong sign: the loss is −log p.": _descent,
        "the right token has 1 − ε + ε/V in q, its own part of ε included.": _without_own_part,
    },
    cases=[
        (normal(3, seed=0), 1, 0.1),
        (normal(5, seed=1, dtype=torch.float32), 4, 0.3),
        (normal(4, seed=2), 0, 0.2),
    ],
)

"""Training: the targets of label smoothing."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.judge.exercises import Exercise


def _smoothed_targets(
    target: Int[Tensor, " tokens"], vocab: int, smoothing: float
) -> Float[Tensor, "tokens vocab"]:
    """The smoothed targets of some tokens, a row for each."""
    return (1 - smoothing) * F.one_hot(target, vocab) + smoothing / vocab


def two_shares(target: Tensor, vocab: int, right: float, other: float) -> Tensor:
    """One share for the right token, and one for every other."""
    return torch.where(F.one_hot(target, vocab) == 1, right, other)


smoothed_targets = Exercise(
    reference=_smoothed_targets,
    given={
        "these are one-hot targets; the share ε is not given away.": (
            lambda y, V, s: two_shares(y, V, 1.0, 0.0)
        ),
        "the rows do not sum to 1: the right token keeps all it had; take (1 − ε) of it.": (
            lambda y, V, s: two_shares(y, V, 1 + s / V, s / V)
        ),
        "here ε goes to the other tokens only; all V share it, the right one too.": (
            lambda y, V, s: two_shares(y, V, 1 - s, s / (V - 1))
        ),
        "the rows do not sum to 1: the right token gets its part of ε, too.": (
            lambda y, V, s: two_shares(y, V, 1 - s, s / V)
        ),
        "the rows do not sum to 1: ε is divided by V − 1, but all V get a part.": (
            lambda y, V, s: two_shares(y, V, 1 - s + s / (V - 1), s / (V - 1))
        ),
        "here ε is shared by V − 2 tokens; all V share it.": (
            lambda y, V, s: two_shares(y, V, 1 - s, s / (V - 2))
        ),
        "each of the V tokens gets the whole ε; they have to share it.": (
            lambda y, V, s: two_shares(y, V, 1.0, s)
        ),
        "ε and 1 − ε are swapped.": (
            lambda y, V, s: two_shares(y, V, s + (1 - s) / V, (1 - s) / V)
        ),
        "here ε is divided by the number of targets; divide it by the size of the vocabulary.": (
            lambda y, V, s: two_shares(y, V, 1 - s + s / len(y), s / len(y))
        ),
        "the rows do not sum to 1: the right token keeps all of its 1.": (
            lambda y, V, s: two_shares(y, V, 1.0, s / V)
        ),
        "the right token keeps its 1, and each other gets ε/(V − 1): the rows sum to 1 + ε.": (
            lambda y, V, s: two_shares(y, V, 1.0, s / (V - 1))
        ),
        "the rows do not sum to 1: the others get ε/(V − 1); it is ε/V for all.": (
            lambda y, V, s: two_shares(y, V, 1 - s + s / V, s / (V - 1))
        ),
        "the rows sum to 1 − ε: the share ε is taken away, and nobody gets it.": (
            lambda y, V, s: two_shares(y, V, 1 - s, 0.0)
        ),
        "the other tokens have 0; each gets ε/V.": (
            lambda y, V, s: two_shares(y, V, 1 - s + s / V, 0.0)
        ),
        "the right token loses ε/V only; it gives away ε and gets ε/V back.": (
            lambda y, V, s: two_shares(y, V, 1 - s / V, s / V)
        ),
        "each of the others gets the whole ε; all V share it.": (
            lambda y, V, s: two_shares(y, V, 1 - s, s)
        ),
        "all tokens have the same; the right one keeps 1 − ε besides.": (
            lambda y, V, s: two_shares(y, V, s / V, s / V)
        ),
        "the right token has ε/V only, and the others the rest of it.": (
            lambda y, V, s: two_shares(y, V, s / V, 1 - s + s / V)
        ),
        "there are as many columns as the largest target needs; there are V tokens.": (
            lambda y, V, s: (1 - s) * F.one_hot(y) + s / V
        ),
        "every number is cut to a whole one: make floats of the 0s and 1s first.": (
            lambda y, V, s: _smoothed_targets(y, V, s).long()
        ),
        "the row of token 0 is empty; here it is a token like the others.": (
            lambda y, V, s: _smoothed_targets(y, V, s) * (y != 0)[:, None]
        ),
        "token 0 gets nothing; here it is a token like the others.": (
            lambda y, V, s: _smoothed_targets(y, V, s) * (torch.arange(V) != 0)
        ),
        "every token gets 1/V besides; together they get ε.": (
            lambda y, V, s: two_shares(y, V, 1 - s + 1 / V, 1 / V)
        ),
        "every token loses ε, and gets ε/V; the right one alone gives away.": (
            lambda y, V, s: two_shares(y, V, 1 - s + s / V, s / V - s)
        ),
        "1 − ε multiplies the part of ε, too.": (
            lambda y, V, s: two_shares(y, V, (1 - s) * (1 + s / V), (1 - s) * s / V)
        ),
    },
    cases=[
        (torch.tensor([2, 0, 4]), 5, 0.1),
        (torch.tensor([1, 1, 6]), 8, 0.4),
        (torch.tensor([5, 3, 0]), 6, 0.25),
        (torch.tensor([0, 2, 1]), 4, 0.0),
    ],
)

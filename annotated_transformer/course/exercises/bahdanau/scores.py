"""Bahdanau attention: what the scores decide."""

import functools
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Derivation
from annotated_transformer.course.exercises.cases import normal
from annotated_transformer.course.questions import Question, by_letters, by_number

CHANGES = {
    "A": "a softmax cancels what all scores share.",
    "B": "the differences between the scores double, and the weights become more unequal.",
    "C": "tanh(−x) = −tanh(x), and the minus of v cancels this one.",
    "D": "a word for which a unit is saturated hardly moves, and another one does.",
    "E": "the score is a sum over the units, and a sum has no order.",
    "F": "without tanh the query's part is the same for every word.",
}


def _unchanged() -> str:
    """The letters of the changes that leave the weights as they are."""
    s, other, shift = normal(3, 4, seed=0)
    h, v = normal(5, 4, seed=1), normal(6, seed=2)
    W_s, W_h = normal(2, 6, 4, seed=3)
    order = torch.arange(6).flip(0)
    scores = torch.tanh(W_s @ s + h @ W_h.mT) @ v
    changed = {
        "A": scores + 5,
        "B": scores * 2,
        "C": torch.tanh(-W_s @ s - h @ W_h.mT) @ -v,
        "D": torch.tanh(W_s @ s + (h + shift) @ W_h.mT) @ v,
        "E": torch.tanh(W_s[order] @ s + h @ W_h[order].mT) @ v[order],
    }
    pairs = {letter: (scores, after) for letter, after in changed.items()}
    pairs["F"] = (W_s @ s + h @ W_h.mT) @ v, (W_s @ other + h @ W_h.mT) @ v
    return "".join(k for k, (a, b) in pairs.items() if torch.allclose(a.softmax(0), b.softmax(0)))


@Question
def same_weights(answer: Any) -> str:
    """Which changes leave all attention weights as they are?"""
    return by_letters(answer, _unchanged(), CHANGES)


@functools.cache
def _sharpest(hidden: bool = True) -> float:
    """The sharpness with the smallest error, with every hour's own reading hidden or not."""
    hours = torch.arange(24, dtype=torch.float64)
    degrees = 15 - 5 * torch.cos((hours - 3) * torch.pi / 12) + 2 * torch.sin(7 * hours**2)
    squares = (hours[:, None] - hours) ** 2
    own = torch.eye(24).bool() & hidden

    def error(sharpness: float) -> float:
        weights = (-sharpness * squares / 2).masked_fill(own, -torch.inf).softmax(dim=1)
        return float(((weights @ degrees - degrees) ** 2).mean())

    return min((0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), key=error)


@Question
def best_sharpness(answer: Any) -> str:
    """Which sharpness guesses a hidden reading best?"""
    return by_number(
        answer,
        _sharpest(),
        {
            _sharpest(hidden=False): "so sharp, every hour answers with its own reading; hide it.",
            0.01: "so blunt, hours far away count nearly as much as those nearby.",
        },
    )


def _by_one_score(
    scores: Float[Tensor, " key"], values: Float[Tensor, "key d"], j: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The weights, the context, and their derivatives with respect to one score."""

    def attend(scores: Tensor) -> tuple[Tensor, Tensor]:
        weights = scores.softmax(0)
        return weights, weights @ values

    of_weights, of_context = torch.func.jacrev(attend)(scores)
    return *attend(scores), of_weights[:, j], of_context[:, j]


def _by_formulas(
    e: Tensor, h: Tensor, j: int, others: int = 1, shrunk: int = 1
) -> tuple[Tensor, ...]:
    """The same; without the ``others``, or without what they lose."""
    weights, one = e.softmax(0), torch.eye(len(e)).to(e)[j]
    of_weights = weights[j] * (one - weights) * (one + others * (1 - one))
    return weights, weights @ h, of_weights, weights[j] * (h[j] - shrunk * weights @ h)


by_one_score = Derivation(
    reference=_by_one_score,
    mistakes={
        "step 3 is 0 for the other weights; they share a sum with this one, and shrink.": (
            lambda e, h, j: _by_formulas(e, h, j, others=0)
        ),
        "step 4 lacks what the other words lose when word j gains.": (
            lambda e, h, j: _by_formulas(e, h, j, shrunk=0)
        ),
    },
    cases=[
        (normal(4, seed=0), normal(4, 3, seed=1), 1),
        (normal(3, seed=2).float(), normal(3, 5, seed=3).float(), 0),
        (normal(5, seed=4), normal(5, 2, seed=5), 4),
    ],
)

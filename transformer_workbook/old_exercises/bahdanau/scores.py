"""Bahdanau attention: what the scores decide."""

import functools
from typing import Any

import torch

from transformer_workbook.exercises.cases import normal
from transformer_workbook.old_exercises.old_question import Question, by_letters, by_number

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


SHARPNESSES = 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0


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

    return min(SHARPNESSES, key=error)


@Question
def best_sharpness(answer: Any) -> str:
    """Which sharpness guesses a hidden reading best?"""
    return by_number(
        answer,
        _sharpest(),
        {
            _sharpest(hidden=False): "so sharp, every hour answers with its own reading; hide it.",
            0.01: "so blunt, hours far away count nearly as much as those nearby.",
            0.03: "so blunt, half a day counts, and the day's rise and fall are blurred.",
            0.1: "still a little blunt: the guesses are flatter than the day; try a sharper one.",
            1.0: "a little too sharp: each guess repeats the errors of two neighbours.",
            3.0: "so sharp, only the two nearest hours count, and their errors stay.",
        },
        among=SHARPNESSES,
    )

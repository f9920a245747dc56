"""Bahdanau attention: its score, and how well it aligns."""

from collections.abc import Set

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases

Links = Set[tuple[int, int]]


def _additive_scores(
    query: Float[Tensor, "batch query d_s"],
    key: Float[Tensor, "batch key d_h"],
    W_s: Float[Tensor, "d d_s"],
    W_h: Float[Tensor, "d d_h"],
    v: Float[Tensor, " d"],
) -> Float[Tensor, "batch query key"]:
    pairs = (query @ W_s.mT).unsqueeze(2) + (key @ W_h.mT).unsqueeze(1)
    return pairs.tanh() @ v


def _projected(s: Tensor, h: Tensor, W_s: Tensor, W_h: Tensor) -> tuple[Tensor, Tensor]:
    return (s @ W_s.mT)[:, :, None], (h @ W_h.mT)[:, None]


def _sums(s: Tensor, h: Tensor, W_s: Tensor, W_h: Tensor) -> Tensor:
    return torch.add(*_projected(s, h, W_s, W_h))


additive_scores = Exercise(
    reference=_additive_scores,
    mistakes={
        "tanh comes before v: v adds up what tanh has bent.": (
            lambda s, h, W_s, W_h, v: torch.tanh(_sums(s, h, W_s, W_h) @ v)
        ),
        "tanh is missing: the query then adds the same to every score, and softmax drops it.": (
            lambda s, h, W_s, W_h, v: _sums(s, h, W_s, W_h) @ v
        ),
        "this is a sigmoid; tanh is asked for.": (
            lambda s, h, W_s, W_h, v: torch.sigmoid(_sums(s, h, W_s, W_h)) @ v
        ),
        "you bend the two halves apart; tanh must see their sum, or they never meet.": (
            lambda s, h, W_s, W_h, v: sum(map(torch.tanh, _projected(s, h, W_s, W_h))) @ v
        ),
        "you multiply the two halves; this score adds them.": (
            lambda s, h, W_s, W_h, v: torch.tanh(torch.mul(*_projected(s, h, W_s, W_h))) @ v
        ),
        "you take the dot product of the two halves: tanh and v are missing.": (
            lambda s, h, W_s, W_h, v: torch.mul(*_projected(s, h, W_s, W_h)).sum(-1)
        ),
        "v is missing: you add up the entries, and each must have a weight of its own.": (
            lambda s, h, W_s, W_h, v: torch.tanh(_sums(s, h, W_s, W_h)).sum(-1)
        ),
        "the result is turned round: (batch, query, key) is asked for.": (
            lambda s, h, W_s, W_h, v: (torch.tanh(_sums(s, h, W_s, W_h)) @ v).mT
        ),
        "these are weights; the scores are asked for, before the softmax.": (
            lambda s, h, W_s, W_h, v: _additive_scores(s, h, W_s, W_h, v).softmax(-1)
        ),
    },
    cases=random_cases("batch query d_s", "batch key d_h", "d d_s", "d d_h", "d"),
)


def _alignment_error(predicted: Links, gold: Links) -> float:
    aligned = {target for _, target in gold}
    judged = {(source, target) for source, target in predicted if target in aligned}
    return 1 - 2 * len(judged & gold) / (len(judged) + len(gold))


def _judged(predicted: Links, gold: Links, end: int = 1) -> Links:
    """The predicted links of which the source (end 0) or the target (end 1) has a gold link."""
    return {link for link in predicted if link[end] in {true[end] for true in gold}}


def _error(judged: Links, gold: Links) -> float:
    return 1 - 2 * len(judged & gold) / (len(judged) + len(gold))


alignment_error = Exercise(
    reference=_alignment_error,
    mistakes={
        "you judge links of targets without gold; they have no right answer, so leave them out.": (
            _error
        ),
        "you leave out by the source word; the target is the second of a pair.": (
            lambda a, g: _error(_judged(a, g, end=0), g)
        ),
        "you look at the predicted links alone (precision); missed gold links count too.": (
            lambda a, g: 1 - len(_judged(a, g) & g) / len(_judged(a, g))
        ),
        "you look at the gold links alone (recall): predicting every link would be perfect.": (
            lambda a, g: 1 - len(a & g) / len(g)
        ),
        "you divide by the union (Jaccard); divide twice the hits by both sizes together.": (
            lambda a, g: 1 - len(_judged(a, g) & g) / len(_judged(a, g) | g)
        ),
        "the 2 is missing: even a perfect alignment would have an error of a half.": (
            lambda a, g: (1 + _error(_judged(a, g), g)) / 2
        ),
        "this is large where the links are good; the error is 1 minus it.": (
            lambda a, g: 1 - _error(_judged(a, g), g)
        ),
        "you leave out every wrong link; only a target without gold has no right answer.": (
            lambda a, g: _error(a & g, g)
        ),
        "you divide by the first size and add the second; put brackets around the divisor.": (
            lambda a, g: 1 - 2 * len(a & g) / len(_judged(a, g)) + len(g)
        ),
        "you count the wrong links; the error is a share.": (lambda a, g: len(_judged(a, g) ^ g)),
    },
    cases=[
        ({(0, 1), (1, 0), (2, 2)}, {(0, 1), (1, 3), (2, 0)}),
        ({(0, 0), (1, 1), (2, 2), (0, 3)}, {(0, 0), (3, 1), (1, 1)}),
        ({(0, 2), (1, 1), (3, 0), (2, 4)}, {(0, 2), (1, 1), (4, 0), (3, 3), (2, 3), (5, 5)}),
        ({(0, 0), (1, 2), (2, 1), (4, 2), (3, 3)}, {(0, 0), (1, 2), (2, 1), (4, 5)}),
    ],
)

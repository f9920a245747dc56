"""Luong attention: its scores."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import random_cases
from transformer_workbook.judge.exercises import Exercise


def _general_scores(
    query: Float[Tensor, "*batch query d_s"],
    key: Float[Tensor, "*batch key d_h"],
    W: Float[Tensor, "d_s d_h"],
) -> Float[Tensor, "*batch query key"]:
    """The general scores of every query with every key."""
    return query @ W @ key.transpose(-2, -1)


def _after(change: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda s, h, W: change(_general_scores(s, h, W))


def _divided(width: Callable[[int, int], float]) -> Callable[..., Tensor]:
    return lambda s, h, W: _general_scores(s, h, W) / width(*W.shape)


WIDTHS: dict[str, Callable[[int, int], float]] = {
    "√d_s": lambda d_s, d_h: d_s**0.5,
    "√d_h": lambda d_s, d_h: d_h**0.5,
    "√(d_s d_h)": lambda d_s, d_h: (d_s * d_h) ** 0.5,
    "d_s": lambda d_s, d_h: d_s,
    "d_h": lambda d_s, d_h: d_h,
    "d_s d_h": lambda d_s, d_h: d_s * d_h,
}

general_scores = Exercise(
    reference=_general_scores,
    given={
        "the result is turned round: (..., query, key) is asked for.": _after(lambda e: e.mT),
        "the keys are not used yet: multiply sᵀ W with every h.": lambda s, h, W: s @ W,
        "the queries are not used yet: multiply W h with every s.": lambda s, h, W: h @ W.mT,
        "the products are not added up: one number for each pair is asked for.": (
            lambda s, h, W: (s @ W)[..., None, :] * h[..., None, :, :]
        ),
        "these are weights; the scores are asked for, before the softmax.": (
            _after(lambda e: e.softmax(-1))
        ),
        **{
            f"these scores are divided by {name}; this score is only products.": _divided(width)
            for name, width in WIDTHS.items()
        },
        "there is a tanh around W h; this score is only products.": (
            lambda s, h, W: s @ torch.tanh(h @ W.mT).mT
        ),
        "there is a tanh around the score; this score is only products.": _after(torch.tanh),
        "these are weights, and over the queries; the scores are asked for.": (
            _after(lambda e: e.softmax(-2))
        ),
        "there is a tanh around sᵀ W; this score is only products.": (
            lambda s, h, W: torch.tanh(s @ W) @ h.mT
        ),
        "these are cosines of sᵀ W and h; the lengths count, too.": (
            lambda s, h, W: (
                (s @ W / (s @ W).norm(dim=-1, keepdim=True)) @ (h / h.norm(dim=-1, keepdim=True)).mT
            )
        ),
        "the scores of a query are added up; one number for each key is asked for.": (
            _after(lambda e: e.sum(-1))
        ),
    },
    cases=random_cases("... query d_s", "... key d_h", "d_s d_h"),
)

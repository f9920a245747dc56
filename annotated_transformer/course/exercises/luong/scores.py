"""Luong attention: its scores."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases


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
    mistakes={
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


def _score_parameters(score: str, d_s: int, d_h: int, d: int) -> int:
    """How many parameters a score has."""
    if score == "dot":
        return 0
    if score == "general":
        return d_s * d_h
    return d * (d_s + d_h) + d


Count = Callable[[int, int, int], int | None]

COUNTS: dict[str, Count] = {
    "dot": lambda d_s, d_h, d: 0,
    "general": lambda d_s, d_h, d: d_s * d_h,
    "concat": lambda d_s, d_h, d: d * (d_s + d_h) + d,
}


def _counts(**others: Count) -> Callable[..., int | None]:
    """The numbers of parameters, with another count for one score or more."""
    counts = {**COUNTS, **others}
    return lambda score, *widths: counts[score](*widths)


score_parameters = Exercise(
    reference=_score_parameters,
    mistakes={
        "v is missing: concat has a vector of d numbers beside its matrix.": (
            _counts(concat=lambda s, h, d: d * (s + h))
        ),
        "v has d numbers, one for each entry of the tanh.": (
            _counts(concat=lambda s, h, d: d * (s + h) + s + h)
        ),
        "there is a bias in general; these scores have none.": (
            _counts(general=lambda s, h, d: s * h + s)
        ),
        "there is a bias in concat; these scores have none.": (
            _counts(concat=lambda s, h, d: d * (s + h) + 2 * d)
        ),
        "there are biases in general and in concat; these scores have none.": (
            _counts(general=lambda s, h, d: s * h + s, concat=lambda s, h, d: d * (s + h) + 2 * d)
        ),
        "the dot score has nothing to train.": _counts(dot=lambda s, h, d: s),
        "dot needs an answer, too: it has nothing to train, so 0.": (
            _counts(dot=lambda s, h, d: None)
        ),
        "one number in dot is too many: it has nothing to train.": _counts(dot=lambda s, h, d: 1),
        "dot has no matrix: these are the numbers of general.": _counts(dot=COUNTS["general"]),
        "general has a whole matrix: d_s · d_h numbers, not d_s + d_h.": (
            _counts(general=lambda s, h, d: s + h)
        ),
        "general has d_s · d_h numbers; a vector of d_h is too many.": (
            _counts(general=lambda s, h, d: s * h + h)
        ),
        "general has d_s · d_h numbers; a vector of d is too many.": (
            _counts(general=lambda s, h, d: s * h + d)
        ),
        "general has d_s · d_h numbers; these are those of concat.": (
            _counts(general=COUNTS["concat"])
        ),
        "general has one matrix between s and h; these are two that lead to the width d.": (
            _counts(general=lambda s, h, d: d * (s + h))
        ),
        "general has d_s · d_h numbers; only concat has the width d inside.": (
            _counts(general=lambda s, h, d: d * s * h)
        ),
        "general has a matrix from the memory to the state, not d_s · d_s numbers.": (
            _counts(general=lambda s, h, d: s * s)
        ),
        "the matrix of concat meets both: the state and the memory.": (
            _counts(concat=lambda s, h, d: d * s + d)
        ),
        "the matrix of concat meets the state, too; these are only the columns of the memory.": (
            _counts(concat=lambda s, h, d: d * h + d)
        ),
        "concat puts s and h in a row: its matrix has d · (d_s + d_h) numbers.": (
            _counts(concat=lambda s, h, d: d * s * h + d)
        ),
        "2d² + d is for equal widths; the matrix of concat has d · (d_s + d_h) numbers.": (
            _counts(concat=lambda s, h, d: 2 * d * d + d)
        ),
        "the brackets are missing: both d_s and d_h are multiplied by d.": (
            _counts(concat=lambda s, h, d: d * s + h + d)
        ),
        "concat has a matrix of d rows; this adds the widths.": (
            _counts(concat=lambda s, h, d: s + h + d)
        ),
        "concat has a matrix of d rows; this one has d_s + d_h.": (
            _counts(concat=lambda s, h, d: (s + h) ** 2 + d)
        ),
        "concat has a matrix and a vector; their numbers are added, not multiplied.": (
            _counts(concat=lambda s, h, d: d * (s + h) * d)
        ),
        "v has d numbers, not 1.": _counts(concat=lambda s, h, d: d * (s + h) + 1),
        "v has d numbers, not d_s.": _counts(concat=lambda s, h, d: d * (s + h) + s),
        "v has d numbers, not d_h.": _counts(concat=lambda s, h, d: d * (s + h) + h),
    },
    cases=[
        ("dot", 4, 4, 5),
        ("general", 3, 4, 5),
        ("general", 6, 2, 4),
        ("concat", 3, 4, 5),
        ("concat", 6, 5, 2),
    ],
)

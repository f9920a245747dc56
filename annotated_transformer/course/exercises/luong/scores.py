"""Luong attention: its scores."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Derivation, Exercise
from annotated_transformer.course.exercises.cases import normal, random_cases


def _general_scores(
    query: Float[Tensor, "*batch query d_s"],
    key: Float[Tensor, "*batch key d_h"],
    W: Float[Tensor, "d_s d_h"],
) -> Float[Tensor, "*batch query key"]:
    """The general scores of every query with every key."""
    return query @ W @ key.transpose(-2, -1)


def _after(change: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda s, h, W: change(_general_scores(s, h, W))


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
        "these scores are divided by √d_s; this score is only products.": (
            lambda s, h, W: _general_scores(s, h, W) / len(W) ** 0.5
        ),
        "these scores are divided by √d_h; this score is only products.": (
            lambda s, h, W: _general_scores(s, h, W) / W.size(1) ** 0.5
        ),
        "there is a tanh around W h; this score is only products.": (
            lambda s, h, W: s @ torch.tanh(h @ W.mT).mT
        ),
        "there is a tanh around the score; this score is only products.": _after(torch.tanh),
        "these are weights, and over the queries; the scores are asked for.": (
            _after(lambda e: e.softmax(-2))
        ),
        "these scores are divided by √(d_s d_h); this score is only products.": (
            lambda s, h, W: _general_scores(s, h, W) / W.numel() ** 0.5
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


def _counts(
    dot: Callable[[int, int], int] = lambda s, h: 0,
    general: Callable[[int, int], int] = lambda s, h: s * h,
    concat: Callable[[int, int, int], int] = lambda s, h, d: d * (s + h) + d,
) -> Callable[[str, int, int, int], int]:
    return lambda score, d_s, d_h, d: (
        concat(d_s, d_h, d)
        if score == "concat"
        else {"dot": dot, "general": general}[score](d_s, d_h)
    )


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
            _counts(general=lambda s, h: s * h + s)
        ),
        "there is a bias in concat; these scores have none.": (
            _counts(concat=lambda s, h, d: d * (s + h) + 2 * d)
        ),
        "the dot score has nothing to train.": _counts(dot=lambda s, h: s),
        "general has a whole matrix: d_s · d_h numbers, not d_s + d_h.": (
            _counts(general=lambda s, h: s + h)
        ),
        "the matrix of concat meets both: the state and the memory.": (
            _counts(concat=lambda s, h, d: d * s + d)
        ),
        "concat puts s and h in a row: its matrix has d · (d_s + d_h) numbers.": (
            _counts(concat=lambda s, h, d: d * s * h + d)
        ),
        "2d² + d is for equal widths; the matrix of concat has d · (d_s + d_h) numbers.": (
            _counts(concat=lambda s, h, d: 2 * d * d + d)
        ),
        "v has d numbers, not 1.": _counts(concat=lambda s, h, d: d * (s + h) + 1),
        "the brackets are missing: both d_s and d_h are multiplied by d.": (
            _counts(concat=lambda s, h, d: d * s + h + d)
        ),
        "general has d_s · d_h numbers; a vector of d_h is too many.": (
            _counts(general=lambda s, h: s * h + h)
        ),
        "general has a matrix from the memory to the state, not d_s · d_s numbers.": (
            _counts(general=lambda s, h: s * s)
        ),
        "one number in dot is too many: it has nothing to train.": _counts(dot=lambda s, h: 1),
        "dot has no matrix: these are the numbers of general.": _counts(dot=lambda s, h: s * h),
        "the matrix of concat meets the state, too; these are only the columns of the memory.": (
            _counts(concat=lambda s, h, d: d * h + d)
        ),
        "v has d numbers, not d_s.": _counts(concat=lambda s, h, d: d * (s + h) + s),
        "concat has a matrix of d rows; this adds the widths.": (
            _counts(concat=lambda s, h, d: s + h + d)
        ),
    },
    cases=[
        ("dot", 4, 4, 5),
        ("general", 3, 4, 5),
        ("general", 6, 2, 4),
        ("concat", 3, 4, 5),
        ("concat", 6, 5, 2),
    ],
)


def _by_the_query(
    s: Float[Tensor, " d_s"], memory: Float[Tensor, "src d_h"], W: Float[Tensor, "d_s d_h"]
) -> tuple[Tensor, Tensor, Tensor]:
    """The derivative of the context with respect to the query, in three steps."""

    def scores(s: Tensor) -> Tensor:
        return memory @ (s @ W)

    def context(scores: Tensor) -> Tensor:
        return scores.softmax(0) @ memory

    derivative = torch.func.jacrev
    whole = derivative(lambda s: context(scores(s)))(s)
    return derivative(scores)(s), derivative(context)(scores(s)), whole


def _by_formulas(
    s: Tensor, h: Tensor, W: Tensor, centred: int = 1, turned: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """The same; about zero instead of the context, or without ``W`` in the last step."""
    weights = (h @ (s @ W)).softmax(0)
    of_context = (weights[:, None] * (h - centred * weights @ h)).mT
    return h @ W.mT, of_context, of_context @ (h @ W.mT if turned else h)


by_the_query = Derivation(
    reference=_by_the_query,
    mistakes={
        "step 2 lacks what the other words lose when word j gains: subtract the context.": (
            lambda s, h, W: _by_formulas(s, h, W, centred=0)
        ),
        "step 3 lacks W: multiply step 2 by step 1.": (
            lambda s, h, W: _by_formulas(s, h, W, turned=False)
        ),
    },
    cases=[
        (normal(2, seed=0), normal(3, 4, seed=1), normal(2, 4, seed=2)),
        (normal(4, seed=3).float(), normal(5, 3, seed=4).float(), normal(4, 3, seed=5).float()),
        (normal(5, seed=6), normal(4, 2, seed=7), normal(5, 2, seed=8)),
    ],
)

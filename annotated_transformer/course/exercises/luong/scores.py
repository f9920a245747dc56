"""Luong attention: its scores."""

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases

ONE_SENTENCE = "this works for one sentence only: .T turns all axes round; use transpose(-2, -1)."
ONE_BATCH = "transpose(1, 2) fits one batch only; count the axes from the end: transpose(-2, -1)."


def _dot_scores(
    query: Float[Tensor, "*batch query d"], key: Float[Tensor, "*batch key d"]
) -> Float[Tensor, "*batch query key"]:
    return query @ key.transpose(-2, -1)


dot_scores = Exercise(
    reference=_dot_scores,
    mistakes={
        "the result is turned round: (…, query, key) is asked for.": lambda s, h: h @ s.mT,
        "you divide by √d; the dot score does not (the Transformer will).": (
            lambda s, h: s @ h.mT / s.size(-1) ** 0.5
        ),
        "you divide by d: this is the mean of the products, not their sum.": (
            lambda s, h: s @ h.mT / s.size(-1)
        ),
        "this is the cosine: you divide by the lengths of the vectors.": (
            lambda s, h: torch.cosine_similarity(s[..., None, :], h[..., None, :, :], dim=-1)
        ),
        "this is a distance: the products of the entries are asked for.": torch.cdist,
        "these are weights; the scores are asked for, before the softmax.": (
            lambda s, h: (s @ h.mT).softmax(-1)
        ),
        "the sum over d is missing.": lambda s, h: s[..., None, :] * h[..., None, :, :],
        ONE_SENTENCE: lambda s, h: s @ h.t(),
        ONE_BATCH: lambda s, h: s @ h.transpose(1, 2),
    },
    cases=random_cases("... query d", "... key d"),
)


def _general_scores(
    query: Float[Tensor, "*batch query d_s"],
    key: Float[Tensor, "*batch key d_h"],
    W: Float[Tensor, "d_s d_h"],
) -> Float[Tensor, "*batch query key"]:
    return query @ W @ key.transpose(-2, -1)


general_scores = Exercise(
    reference=_general_scores,
    mistakes={
        "the result is turned round: (…, query, key) is asked for.": (
            lambda s, h, W: (s @ W @ h.mT).mT
        ),
        "you bend W h with a tanh; this score is only products.": (
            lambda s, h, W: s @ torch.tanh(h @ W.mT).mT
        ),
        "you bend the score with a tanh; this score is only products.": (
            lambda s, h, W: torch.tanh(s @ W @ h.mT)
        ),
        "you divide by √d; this score does not (the Transformer will).": (
            lambda s, h, W: s @ W @ h.mT / h.size(-1) ** 0.5
        ),
        "the keys are not used yet: multiply sᵀ W with every h.": lambda s, h, W: s @ W,
        "the queries are not used yet: multiply W h with every s.": lambda s, h, W: h @ W.mT,
        "these are weights; the scores are asked for, before the softmax.": (
            lambda s, h, W: (s @ W @ h.mT).softmax(-1)
        ),
        ONE_SENTENCE: lambda s, h, W: s @ W @ h.t(),
        ONE_BATCH: lambda s, h, W: s @ W @ h.transpose(1, 2),
    },
    cases=random_cases("... query d_s", "... key d_h", "d_s d_h"),
)


def _score_parameters(score: str, d_s: int, d_h: int, d: int) -> int:
    if score == "dot":
        return 0
    if score == "general":
        return d_s * d_h
    return d * (d_s + d_h) + d


score_parameters = Exercise(
    reference=_score_parameters,
    mistakes={
        "v is missing: concat has a vector of d numbers beside its matrices.": (
            lambda score, d_s, d_h, d: {"dot": 0, "general": d_s * d_h}.get(score, d * (d_s + d_h))
        ),
        "v has d numbers, one for each entry of the tanh.": (
            lambda score, d_s, d_h, d: {"dot": 0, "general": d_s * d_h}.get(
                score, d * (d_s + d_h) + d_s + d_h
            )
        ),
        "you count a bias; these scores have none.": (
            lambda score, d_s, d_h, d: {"dot": 0, "general": d_s * d_h + d_s}.get(
                score, d * (d_s + d_h) + d + d
            )
        ),
        "the dot score has nothing to train.": (
            lambda score, d_s, d_h, d: {"dot": d_s, "general": d_s * d_h}.get(
                score, d * (d_s + d_h) + d
            )
        ),
        "general has a whole matrix: d_s · d_h numbers, not d_s + d_h.": (
            lambda score, d_s, d_h, d: {"dot": 0, "general": d_s + d_h}.get(
                score, d * (d_s + d_h) + d
            )
        ),
        "concat has a matrix for the state and one for the memory.": (
            lambda score, d_s, d_h, d: {"dot": 0, "general": d_s * d_h}.get(score, d * d_s + d)
        ),
        "concat puts s and h in a row: its matrix has d · (d_s + d_h) numbers.": (
            lambda score, d_s, d_h, d: {"dot": 0, "general": d_s * d_h}.get(
                score, d * d_s * d_h + d
            )
        ),
        "you swapped general and concat.": (
            lambda score, d_s, d_h, d: {"dot": 0, "concat": d_s * d_h}.get(
                score, d * (d_s + d_h) + d
            )
        ),
    },
    cases=[("dot", 4, 4, 5), ("general", 3, 4, 5), ("concat", 3, 4, 5), ("concat", 6, 5, 2)],
)

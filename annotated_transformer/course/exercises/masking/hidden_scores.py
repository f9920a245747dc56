"""Masking: hidden scores, and rows that are hidden entirely."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases


def _safe_weights(
    scores: Float[Tensor, "batch query key"], mask: Bool[Tensor, "batch query key"]
) -> Float[Tensor, "batch query key"]:
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def _filled(scores: Tensor, mask: Tensor, score: float) -> Tensor:
    return scores.masked_fill(~mask, score).softmax(-1)


def _mask_for(scores: Tensor) -> Tensor:
    """A mask of that shape; in the first sentence, the second query may see nothing."""
    b, q, k = (torch.arange(size) for size in scores.shape)
    mask = (b[:, None, None] + q[:, None] + k) % 3 != 1
    mask[0, 1] = False
    return mask


def _loud(scores: Tensor) -> Tensor:
    """The scores, some of them too large for exp: a hidden one, and all of another query."""
    scores = scores.clone()
    scores[0, 0, 1] = scores[0, 0, 1] + 800
    scores[1, 0] = scores[1, 0] + 800
    return scores


safe_weights = Exercise(
    reference=_safe_weights,
    mistakes={
        "a row that may see nothing is nan, for 0/0; it must be zeros.": (
            lambda e, mask: _filled(e, mask, -torch.inf)
        ),
        "a row that may see nothing gets equal weights: a finite number hides nothing there.": (
            lambda e, mask: _filled(e, mask, -1e9)
        ),
        "the mask comes after the softmax: what is left does not sum to 1.": (
            lambda e, mask: e.softmax(-1) * mask
        ),
        "you divide once more after a late mask: a large hidden score has taken everything.": (
            lambda e, mask: (
                e.softmax(-1) * mask / (e.softmax(-1) * mask).sum(-1, True)
            ).nan_to_num()
        ),
        "you divide once more after a late mask, by a sum that can be 0; mask the scores.": (
            lambda e, mask: e.softmax(-1) * mask / (e.softmax(-1) * mask).sum(-1, True)
        ),
        "exp of a large score is inf, and inf / inf is nan; let the softmax do it.": (
            lambda e, mask: e.exp() * mask / (e.exp() * mask).sum(-1, True).clamp(min=1e-9)
        ),
        "exp of a large score is inf, and nan_to_num makes 0 of inf / inf: a lost weight.": (
            lambda e, mask: (e.exp() * mask / (e.exp() * mask).sum(-1, True)).nan_to_num()
        ),
        "you forget the mask.": lambda e, mask: e.softmax(-1),
        "the mask is inverted: True means may attend.": (
            lambda e, mask: _filled(e, ~mask, -torch.inf).nan_to_num()
        ),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1.": (
            lambda e, mask: _filled(e, mask, 0.0) * mask
        ),
        "the softmax goes over the queries; each query shares out 1 among the keys.": (
            lambda e, mask: e.masked_fill(~mask, -torch.inf).softmax(-2).masked_fill(~mask, 0.0)
        ),
        "you throw whole rows away; only a row without any key is to be zeros.": (
            lambda e, mask: _safe_weights(e, mask) * mask.all(-1, keepdim=True)
        ),
    },
    cases=[
        (scores, _mask_for(scores))
        for (calm,) in random_cases("batch query key")
        for scores in (calm, _loud(calm))
    ],
)

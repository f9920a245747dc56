"""Self-attention: why the scores are divided by √d_k, and by nothing else."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Derivation, Exercise
from annotated_transformer.course.exercises.cases import random_cases
from annotated_transformer.course.questions import Question, by_number


def _score_variances(d_k: int, var_q: float, var_k: float) -> tuple[float, float, float, float]:
    """Find the variance of a product, of a dot product, of a scaled score, and its deviation."""
    product = var_q * var_k
    return product, d_k * product, product, math.sqrt(product)


score_variances = Derivation(
    reference=_score_variances,
    mistakes={
        "the variances are added in step 1; that of an independent product is their product.": (
            lambda d, a, b: (a + b, d * (a + b), a + b, math.sqrt(a + b))
        ),
        "a variance shrinks by the square of the divisor: in step 3 by d_k, not by √d_k.": (
            lambda d, a, b: (
                a * b,
                d * a * b,
                a * b * math.sqrt(d),
                math.sqrt(a * b * math.sqrt(d)),
            )
        ),
    },
    cases=[(16, 4.0, 1.0), (5, 2.0, 3.0), (64, 0.5, 0.25)],
)

WIDTHS = (1, 4, 16, 64, 256, 1024)
KEYS = 10


@cache
def _largest_weight(d_k: int, scaled: bool = False) -> float:
    """The largest of ten weights, averaged over many random queries and keys."""
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(2000, 1, d_k, generator=generator)
    key = torch.randn(2000, KEYS, d_k, generator=generator)
    scores = (query * key).sum(-1) / (d_k**0.5 if scaled else 1)
    return scores.softmax(-1).amax(-1).mean().item()


@Question
def nearly_one_key(answer: Any) -> str:
    """From which d_k on does one of ten keys get most of the weight, if nothing is divided?"""
    right = next(d_k for d_k in WIDTHS if _largest_weight(d_k) > 0.9)
    replies: dict[int | float, str] = {
        d_k: (
            f"with d_k = {d_k} the largest weight is {_largest_weight(d_k):.2f} on average."
            if d_k < right
            else "with fewer numbers it is above 0.9 already."
        )
        for d_k in WIDTHS
        if d_k != right
    }
    return by_number(answer, right, replies)


def _batched_attention(
    query: Float[Tensor, "batch query d_k"],
    key: Float[Tensor, "batch key d_k"],
    value: Float[Tensor, "batch key d_v"],
) -> Float[Tensor, "batch query d_v"]:
    """Attend within every sentence of a batch."""
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1) @ value


def _wrong(dim: int, width: str, late: bool = False) -> Callable[..., Tensor]:
    """The same with a softmax over that axis, and the width of "key", "value" … under the root."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        sizes = {"key": key.size(-1), "value": value.size(-1), "words": key.size(1), "none": 1}
        d = sizes[width] ** 0.5
        scores = query @ key.mT
        weights: Tensor = scores.softmax(dim) / d if late else (scores / d).softmax(dim)
        return weights @ value

    return attend


batched_attention = Exercise(
    reference=_batched_attention,
    mistakes={
        "two mistakes are left: the axis of the softmax, and the width under the root.": (
            _wrong(1, "value")
        ),
        "one mistake is left: axis 1 are the queries; each query shares out 1 among the keys.": (
            _wrong(1, "key")
        ),
        "one mistake is left: √d_v; the sum in a score has d_k terms.": _wrong(-1, "value"),
        "the axis is right; under the root stands the number of keys, not the width of one.": (
            _wrong(-1, "words")
        ),
        "the axis of the softmax is still wrong, and now the factor is missing.": _wrong(1, "none"),
        "the softmax goes over the batch; a sentence has nothing to do with another.": (
            _wrong(0, "key")
        ),
        "the axis is right, but the factor is missing: divide the scores by √d_k.": (
            _wrong(-1, "none")
        ),
        "the division comes after the softmax; then the weights sum to 1/√d_k.": _wrong(
            -1, "key", late=True
        ),
        "the division comes after the softmax, and by √d_v; scale the scores, by √d_k.": (
            _wrong(-1, "value", late=True)
        ),
    },
    cases=random_cases("batch query d_k", "batch key d_k", "batch key d_v"),
)

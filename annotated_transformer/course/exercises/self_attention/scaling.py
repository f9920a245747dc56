"""Self-attention: why the scores are divided by √d_k, and by nothing else."""

import math
from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases


def _score_variances(d_k: int, var_q: float, var_k: float) -> tuple[float, float]:
    before = d_k * var_q * var_k
    return before, before / d_k


score_variances = Exercise(
    reference=_score_variances,
    mistakes={
        "a variance shrinks by the square of the divisor: by d_k, not by √d_k.": (
            lambda d, a, b: (d * a * b, d * a * b / math.sqrt(d))
        ),
        "a variance shrinks by the square of √d_k, which is d_k, not d_k².": (
            lambda d, a, b: (d * a * b, a * b / d)
        ),
        "you leave d_k out: the score is a sum of d_k products.": lambda d, a, b: (
            a * b,
            a * b / d,
        ),
        "the variance of a product of two is the product of their variances, not their sum.": (
            lambda d, a, b: (d * (a + b), a + b)
        ),
        "this would be the variance of d_k times one product; the products are independent.": (
            lambda d, a, b: (d**2 * a * b, d * a * b)
        ),
        "these are standard deviations; their squares are asked for.": (
            lambda d, a, b: (math.sqrt(d * a * b), math.sqrt(a * b))
        ),
        "the variance is 1 after the division only where those of q and k are 1.": (
            lambda d, a, b: (d * a * b, 1.0)
        ),
        "this is the variance of q · k alone; return both, before and after the division.": (
            lambda d, a, b: d * a * b
        ),
        "you square the variances; they are squares already.": (
            lambda d, a, b: (d * a**2 * b**2, a**2 * b**2)
        ),
        "you take both variances for 1.": lambda d, a, b: (d, 1.0),
        "you swapped the two: first the dot product, then the dot product divided by √d_k.": (
            lambda d, a, b: (a * b, d * a * b)
        ),
    },
    cases=[(16, 4.0, 1.0), (5, 2.0, 3.0), (64, 0.5, 0.25)],
)


def _two_sequences(
    query: Float[Tensor, "batch query d_k"],
    key: Float[Tensor, "batch key d_k"],
    value: Float[Tensor, "batch key d_v"],
) -> Float[Tensor, "batch query d_v"]:
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
    reference=_two_sequences,
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
        "you scale after the softmax; then the weights sum to 1/√d_k.": _wrong(
            -1, "key", late=True
        ),
        "you scale after the softmax, and by √d_v; scale the scores, by √d_k.": (
            _wrong(-1, "value", late=True)
        ),
    },
    cases=random_cases("batch query d_k", "batch key d_k", "batch key d_v"),
)

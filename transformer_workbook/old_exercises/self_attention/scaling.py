"""Self-attention: why the scores are divided by √d_k, and by nothing else."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import random_cases
from transformer_workbook.judge.comparing import is_number, show
from transformer_workbook.judge.exercises import Derivation, Exercise
from transformer_workbook.old_exercises.luong.lookups import ROW_LOOKUPS, Lookup
from transformer_workbook.old_exercises.old_question import Question, by_number
from transformer_workbook.old_exercises.self_attention.divisors import DIVISORS, Divisor


def _score_variances(d_k: int, var_q: float, var_k: float) -> tuple[float, float, float, float]:
    """Find the variance of a product, of a dot product, of a scaled score, and its deviation."""
    product = var_q * var_k
    return product, d_k * product, product, math.sqrt(product)


def _variances(
    dot: Callable[[int], float] = float, scaled: Callable[[int], float] = lambda d: 1 / d
) -> Callable[[int, float, float], tuple[float, float, float, float]]:
    """The steps, with another factor from 1 to 2 or from 2 to 3; the later ones follow."""

    def steps(d: int, var_q: float, var_k: float) -> tuple[float, float, float, float]:
        product = var_q * var_k
        sums = dot(d) * product
        return product, sums, scaled(d) * sums, math.sqrt(scaled(d) * sums)

    return steps


score_variances = Derivation(
    reference=_score_variances,
    given={
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
        "step 1 lacks var_q and var_k: the numbers need not have variance 1.": (
            lambda d, a, b: (1.0, d, 1.0, 1.0)
        ),
        "step 1 is the variance of q alone; that of k is a factor, too.": (
            lambda d, a, b: (a, d * a, a, math.sqrt(a))
        ),
        "step 1 is of one product; d_k comes in with the sum, in step 2.": (
            lambda d, a, b: (d * a * b, d * a * b, a * b, math.sqrt(a * b))
        ),
        "step 2 adds the two variances; the sum has d_k terms like step 1.": (
            lambda d, a, b: (a * b, d * (a + b), a + b, math.sqrt(a + b))
        ),
        "step 2 has d_k²; the variances of d_k products are added, so it is d_k times step 1.": (
            _variances(dot=lambda d: d**2)
        ),
        "step 2 has √d_k, as a deviation would; variances are added, d_k times.": (
            _variances(dot=lambda d: d**0.5)
        ),
        "step 2 is step 1 again; the sum has d_k terms.": _variances(dot=lambda d: 1),
        "step 2 is divided by d_k; the sum has d_k terms.": _variances(dot=lambda d: 1 / d),
        "step 3 is step 2 again; the division by √d_k is missing.": (
            _variances(scaled=lambda d: 1)
        ),
        "step 3 is divided by d_k²: √d_k squared is d_k.": _variances(scaled=lambda d: d**-2.0),
        "step 3 is multiplied by d_k; the scores are divided.": _variances(scaled=float),
        "step 3 is 1 only if var_q · var_k is; the division takes away d_k and nothing else.": (
            lambda d, a, b: (a * b, d * a * b, 1.0, 1.0)
        ),
        "step 4 is the deviation of the sum; the score's has been divided by √d_k.": (
            lambda d, a, b: (a * b, d * a * b, a * b, math.sqrt(d * a * b))
        ),
        "step 4 is divided by √d_k once more; step 3 has no d_k left.": (
            lambda d, a, b: (a * b, d * a * b, a * b, math.sqrt(a * b / d))
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
    if not is_number(answer) or answer in WIDTHS:
        return by_number(answer, right, replies)
    if 0 < answer < 1:
        return "this is a weight; the d_k is asked for from which on it is above 0.9."
    return f"{show(answer)} is none of the widths; they are {', '.join(map(str, WIDTHS))}."


def _batched_attention(
    query: Float[Tensor, "batch query d_k"],
    key: Float[Tensor, "batch key d_k"],
    value: Float[Tensor, "batch key d_v"],
) -> Float[Tensor, "batch query d_v"]:
    """Attend within every sentence of a batch."""
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1) @ value


def _wrong(
    dim: int = -1, divisor: Divisor = lambda q, k, v: k.size(-1) ** 0.5, late: bool = False
) -> Callable[..., Tensor]:
    """The same with a softmax over that axis, another divisor, or the division after it."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores, d = query @ key.mT, divisor(query, key, value)
        weights: Tensor = scores.softmax(dim) / d if late else (scores / d).softmax(dim)
        return weights @ value

    return attend


def _looked_up(look: Lookup) -> Callable[[Tensor, Tensor, Tensor], Any]:
    return lambda q, k, v: look(q @ k.mT / q.size(-1) ** 0.5, v)


BATCH_DIVISORS: dict[str, Divisor] = {
    **DIVISORS,
    "the divisor is the root of the number of queries; d_k is the width of a key": (
        lambda q, k, v: q.size(1) ** 0.5
    ),
    "the divisor is the root of the number of sentences; d_k is the width of a key": (
        lambda q, k, v: len(q) ** 0.5
    ),
}

batched_attention = Exercise(
    reference=_batched_attention,
    given={
        **{
            f"the axis is right; {sentence}.": _wrong(divisor=divisor)
            for sentence, divisor in BATCH_DIVISORS.items()
        },
        **{
            f"two mistakes are left: axis {dim} does not have the keys; {sentence}.": (
                _wrong(dim, divisor)
            )
            for dim in (0, 1)
            for sentence, divisor in BATCH_DIVISORS.items()
        },
        "the softmax goes over the batch; a sentence has nothing to do with another.": _wrong(0),
        **{sentence: _looked_up(look) for sentence, look in ROW_LOOKUPS.items()},
        "the division comes after the softmax; then the weights sum to 1/√d_k.": _wrong(late=True),
        "the division comes after the softmax, and by √d_v; scale the scores, by √d_k.": (
            _wrong(divisor=lambda q, k, v: v.size(-1) ** 0.5, late=True)
        ),
        "the division comes after the softmax, which goes over the queries; both the other way.": (
            _wrong(1, late=True)
        ),
        "the keys are cut anew, not transposed: exchange their last two axes.": (
            lambda q, k, v: _batched_attention(q, k.reshape(k.mT.shape).mT, v)
        ),
    },
    cases=random_cases("batch query d_k", "batch key d_k", "batch key d_v"),
)

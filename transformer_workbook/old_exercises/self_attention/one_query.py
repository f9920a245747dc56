"""Self-attention: what one query gets."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import random_cases
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.luong.lookups import LOOKUPS, Lookup
from transformer_workbook.old_exercises.self_attention.divisors import DIVISORS, Divisor


def _one_output(
    query: Float[Tensor, " d_k"], keys: Float[Tensor, "n d_k"], values: Float[Tensor, "n d_v"]
) -> Float[Tensor, " d_v"]:
    """Find the output of scaled dot-product attention for one query."""
    scores = keys @ query / math.sqrt(query.size(0))
    return scores.softmax(dim=0) @ values


def _looked_up(look: Lookup) -> Callable[[Tensor, Tensor, Tensor], Any]:
    return lambda q, k, v: look(k @ q / len(q) ** 0.5, v)


def _divided(divisor: Divisor) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    return lambda q, k, v: (k @ q / divisor(q, k, v)).softmax(0) @ v


one_output = Exercise(
    reference=_one_output,
    given={
        **{f"{sentence}.": _divided(divisor) for sentence, divisor in DIVISORS.items()},
        **{sentence: _looked_up(look) for sentence, look in LOOKUPS.items()},
        "the result has an axis too many: for one query, one vector (d_v,) is asked for.": (
            lambda q, k, v: (q[None] @ k.mT / len(q) ** 0.5).softmax(-1) @ v
        ),
        "the division comes after the softmax; then the weights sum to 1/√d_k.": (
            lambda q, k, v: (k @ q).softmax(0) @ v / len(q) ** 0.5
        ),
        "this is a sum of keys; the weights are for the values.": (
            lambda q, k, v: (k @ q / len(q) ** 0.5).softmax(0) @ k
        ),
        "the scores are cosines: divide by √d_k, not by the lengths of the vectors.": (
            lambda q, k, v: torch.cosine_similarity(k, q[None], dim=1).softmax(0) @ v
        ),
        "the sum is missing: each value has its weight, now add them up.": (
            lambda q, k, v: (k @ q / len(q) ** 0.5).softmax(0)[:, None] * v
        ),
        "this adds the numbers of each value; add the values, number by number.": (
            lambda q, k, v: ((k @ q / len(q) ** 0.5).softmax(0)[:, None] * v).sum(1)
        ),
    },
    cases=random_cases("d_k", "n d_k", "n d_v"),
)

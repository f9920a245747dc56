"""Self-attention: what one query gets."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases
from annotated_transformer.course.exercises.luong.lookups import LOOKUPS, Lookup


def _one_output(
    query: Float[Tensor, " d_k"], keys: Float[Tensor, "n d_k"], values: Float[Tensor, "n d_v"]
) -> Float[Tensor, " d_v"]:
    """Find the output of scaled dot-product attention for one query."""
    scores = keys @ query / math.sqrt(query.size(0))
    return scores.softmax(dim=0) @ values


def _looked_up(look: Lookup) -> Callable[[Tensor, Tensor, Tensor], Any]:
    return lambda q, k, v: look(k @ q / len(q) ** 0.5, v)


one_output = Exercise(
    reference=_one_output,
    mistakes={
        "the factor is missing: divide the scores by √d_k.": (
            lambda q, k, v: (k @ q).softmax(0) @ v
        ),
        "the divisor is d_k; its square root is asked for.": (
            lambda q, k, v: (k @ q / len(q)).softmax(0) @ v
        ),
        "the divisor is √d_v; the sum in a score has d_k terms.": (
            lambda q, k, v: (k @ q / v.size(1) ** 0.5).softmax(0) @ v
        ),
        "the divisor is √n; the sum in a score has d_k terms.": (
            lambda q, k, v: (k @ q / len(k) ** 0.5).softmax(0) @ v
        ),
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
        "the scores are multiplied by √d_k; divide by it.": (
            lambda q, k, v: (k @ q * len(q) ** 0.5).softmax(0) @ v
        ),
        "the scores are cosines: divide by √d_k, not by the lengths of the vectors.": (
            lambda q, k, v: torch.cosine_similarity(k, q[None], dim=1).softmax(0) @ v
        ),
        "the sum is missing: each value has its weight, now add them up.": (
            lambda q, k, v: (k @ q / len(q) ** 0.5).softmax(0)[:, None] * v
        ),
        "** comes before /: put −1/2 into brackets.": (
            lambda q, k, v: (k @ q / (2 * len(q))).softmax(0) @ v
        ),
        "the divisor is n, the number of keys; √d_k is asked for.": (
            lambda q, k, v: (k @ q / len(k)).softmax(0) @ v
        ),
        "this adds the numbers of each value; add the values, number by number.": (
            lambda q, k, v: ((k @ q / len(q) ** 0.5).softmax(0)[:, None] * v).sum(1)
        ),
    },
    cases=random_cases("d_k", "n d_k", "n d_v"),
)

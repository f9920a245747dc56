"""Self-attention: one sequence asks itself."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases
from annotated_transformer.course.exercises.luong.scores import (
    ONE_BATCH,
    ONE_SENTENCE,
)


def _scaled_scores(
    query: Float[Tensor, "*batch query d_k"], key: Float[Tensor, "*batch key d_k"]
) -> Float[Tensor, "*batch query key"]:
    return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))


scaled_scores = Exercise(
    reference=_scaled_scores,
    mistakes={
        "the factor is missing: divide by √d_k.": lambda q, k: q @ k.mT,
        "you divide by d_k; its square root is asked for.": lambda q, k: q @ k.mT / q.size(-1),
        "you multiply by √d_k; divide by it.": lambda q, k: q @ k.mT * q.size(-1) ** 0.5,
        "you divide by √ of the number of keys; d_k is the width of one key.": (
            lambda q, k: q @ k.mT / k.size(-2) ** 0.5
        ),
        "you divide by √ of the number of queries; d_k is the width of one query.": (
            lambda q, k: q @ k.mT / q.size(-2) ** 0.5
        ),
        "the result is turned round: (…, query, key) is asked for.": (
            lambda q, k: k @ q.mT / q.size(-1) ** 0.5
        ),
        "this is the cosine: you divide by the lengths of the vectors.": (
            lambda q, k: torch.cosine_similarity(q[..., None, :], k[..., None, :, :], dim=-1)
        ),
        "these are weights; the scores are asked for, before the softmax.": (
            lambda q, k: (q @ k.mT / q.size(-1) ** 0.5).softmax(-1)
        ),
        ONE_SENTENCE: lambda q, k: q @ k.t() / q.size(-1) ** 0.5,
        ONE_BATCH: lambda q, k: q @ k.transpose(1, 2) / q.size(-1) ** 0.5,
    },
    cases=random_cases("... query d_k", "... key d_k"),
)


def _one_output(
    query: Float[Tensor, " d_k"], keys: Float[Tensor, "n d_k"], values: Float[Tensor, "n d_v"]
) -> Float[Tensor, " d_v"]:
    scores = keys @ query / math.sqrt(query.size(0))
    return scores.softmax(dim=0) @ values


one_output = Exercise(
    reference=_one_output,
    mistakes={
        "the factor is missing: divide the scores by √d_k.": (
            lambda q, k, v: (k @ q).softmax(0) @ v
        ),
        "you divide by d_k; its square root is asked for.": (
            lambda q, k, v: (k @ q / len(q)).softmax(0) @ v
        ),
        "you divide by √d_v; the sum in a score has d_k terms.": (
            lambda q, k, v: (k @ q / v.size(1) ** 0.5).softmax(0) @ v
        ),
        "you divide by √n; the sum in a score has d_k terms.": (
            lambda q, k, v: (k @ q / len(k) ** 0.5).softmax(0) @ v
        ),
        "the softmax is missing: these weights do not sum to 1.": (
            lambda q, k, v: k @ q / len(q) ** 0.5 @ v
        ),
        "these weights do not sum to 1: divide the exponentials by their sum.": (
            lambda q, k, v: (k @ q / len(q) ** 0.5).exp() @ v
        ),
        "the result has an axis too many: for one query, one vector (d_v,) is asked for.": (
            lambda q, k, v: (q[None] @ k.mT / len(q) ** 0.5).softmax(-1) @ v
        ),
        "you scale after the softmax; then the weights sum to 1/√d_k.": (
            lambda q, k, v: (k @ q).softmax(0) @ v / len(q) ** 0.5
        ),
        "you take the value of the best key; a soft lookup mixes all of them.": (
            lambda q, k, v: v[(k @ q).argmax()]
        ),
        "you take the plain mean of the values; the scores are not used.": (
            lambda q, k, v: v.mean(0)
        ),
        "these are the weights; the output is the sum of the values with them.": (
            lambda q, k, v: (k @ q / len(q) ** 0.5).softmax(0)
        ),
        "you add up the keys; the weights are for the values.": (
            lambda q, k, v: (k @ q / len(q) ** 0.5).softmax(0) @ k
        ),
        "the sum is missing: each value has its weight, now add them up.": (
            lambda q, k, v: (k @ q / len(q) ** 0.5).softmax(0)[:, None] * v
        ),
    },
    cases=random_cases("d_k", "n d_k", "n d_v"),
)


def _self_attend(
    X: Float[Tensor, "*batch time d_model"],
    W_Q: Float[Tensor, "d_model d_k"],
    W_K: Float[Tensor, "d_model d_k"],
    W_V: Float[Tensor, "d_model d_v"],
) -> Float[Tensor, "*batch time d_v"]:
    query, key, value = X @ W_Q, X @ W_K, X @ W_V
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1) @ value


def _attend(query: Tensor, key: Tensor, value: Tensor, d: int, dim: int = -1) -> Tensor:
    weights = (query @ key.mT / math.sqrt(d)).softmax(dim)
    return weights @ value


self_attend = Exercise(
    reference=_self_attend,
    mistakes={
        "you divide by √d_v; the sum in a score has d_k terms.": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X @ V, V.size(1))
        ),
        "you divide by √d_model; the queries and keys have d_k numbers.": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X @ V, X.size(-1))
        ),
        "the factor is missing: divide the scores by √d_k.": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X @ V, 1)
        ),
        "you divide by d_k; its square root is asked for.": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X @ V, Q.size(1) ** 2)
        ),
        "the softmax goes over the queries; each query shares out 1 among the keys.": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X @ V, Q.size(1), -2)
        ),
        "axis 1 are the keys only without a batch; count from the end: softmax(dim=-1).": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X @ V, Q.size(1), 1)
        ),
        "axis 2 are the keys for one batch axis only; count from the end: softmax(dim=-1).": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X @ V, Q.size(1), 2)
        ),
        "you divide by √ of the number of words; d_k is the width of one key.": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X @ V, X.size(-2))
        ),
        "queries and keys are swapped: the rows of the scores belong to the queries.": (
            lambda X, Q, K, V: _attend(X @ K, X @ Q, X @ V, Q.size(1))
        ),
        "the keys are the queries again; they have a matrix of their own.": (
            lambda X, Q, K, V: _attend(X @ Q, X @ Q, X @ V, Q.size(1))
        ),
        "X itself is added up; the values are X W_V.": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X, Q.size(1))
        ),
        "you scale after the softmax; then the weights sum to 1/√d_k.": (
            lambda X, Q, K, V: _attend(X @ Q, X @ K, X @ V, 1) / Q.size(1) ** 0.5
        ),
        "the softmax is missing: these weights do not sum to 1.": (
            lambda X, Q, K, V: X @ Q @ (X @ K).mT / Q.size(1) ** 0.5 @ (X @ V)
        ),
        "these are the weights; the output is the sum of the values with them.": (
            lambda X, Q, K, V: (X @ Q @ (X @ K).mT / Q.size(1) ** 0.5).softmax(-1)
        ),
        ONE_SENTENCE: lambda X, Q, K, V: _attend(X @ Q, (X @ K).t().mT, X @ V, Q.size(1)),
        ONE_BATCH: (
            lambda X, Q, K, V: _attend(X @ Q, (X @ K).transpose(1, 2).mT, X @ V, Q.size(1))
        ),
    },
    cases=random_cases("... time d_model", "d_model d_k", "d_model d_k", "d_model d_v"),
)

"""Cross-attention: who asks, and who is asked."""

import math

from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases


def _cross_attention_head(
    x: Float[Tensor, "batch tgt d"],
    memory: Float[Tensor, "batch src d"],
    W_Q: Float[Tensor, "d d_k"],
    W_K: Float[Tensor, "d d_k"],
    W_V: Float[Tensor, "d d_v"],
) -> Float[Tensor, "batch tgt d_v"]:
    scores = (x @ W_Q) @ (memory @ W_K).mT / math.sqrt(W_Q.size(1))
    return scores.softmax(dim=-1) @ (memory @ W_V)


def _with(scale: float, q: Tensor, k: Tensor, v: Tensor, axis: int = -1) -> Tensor:
    return (q @ k.mT / scale).softmax(axis) @ v


cross_attention_head = Exercise(
    reference=_cross_attention_head,
    mistakes={
        "the memory asks and the target is asked; the queries come from x.": (
            lambda x, m, Q, K, V: _cross_attention_head(m, x, Q, K, V)
        ),
        "this is self-attention of x; keys and values come from the memory.": (
            lambda x, m, Q, K, V: _cross_attention_head(x, x, Q, K, V)
        ),
        "this is self-attention of the memory; the queries come from x.": (
            lambda x, m, Q, K, V: _cross_attention_head(m, m, Q, K, V)
        ),
        "W^Q and W^K are swapped.": lambda x, m, Q, K, V: _cross_attention_head(x, m, K, Q, V),
        "the factor 1/√d_k is missing.": lambda x, m, Q, K, V: _with(1.0, x @ Q, m @ K, m @ V),
        "you divide by √d; the vectors that are compared have d_k numbers.": (
            lambda x, m, Q, K, V: _with(len(Q) ** 0.5, x @ Q, m @ K, m @ V)
        ),
        "you divide by √d_v; the vectors that are compared have d_k numbers.": (
            lambda x, m, Q, K, V: _with(V.size(1) ** 0.5, x @ Q, m @ K, m @ V)
        ),
        "you divide by d_k; its root is asked for.": (
            lambda x, m, Q, K, V: _with(float(Q.size(1)), x @ Q, m @ K, m @ V)
        ),
        "the softmax goes over the target; each row shares out 1 among the source words.": (
            lambda x, m, Q, K, V: _with(Q.size(1) ** 0.5, x @ Q, m @ K, m @ V, -2)
        ),
        "W^V is missing: the values are the memory times W^V.": (
            lambda x, m, Q, K, V: _with(Q.size(1) ** 0.5, x @ Q, m @ K, m)
        ),
        "the values are the memory times W^V; you add up the keys.": (
            lambda x, m, Q, K, V: _with(Q.size(1) ** 0.5, x @ Q, m @ K, m @ K)
        ),
        "the softmax is missing: these weights do not sum to 1.": (
            lambda x, m, Q, K, V: (x @ Q) @ (m @ K).mT / Q.size(1) ** 0.5 @ (m @ V)
        ),
    },
    cases=random_cases("batch tgt d", "batch src d", "d d_k", "d d_k", "d d_v"),
)


def _turned_attention(
    x: Float[Tensor, "*batch tgt d"], memory: Float[Tensor, "*batch src d"]
) -> Float[Tensor, "*batch tgt d"]:
    weights = (x @ memory.mT / math.sqrt(x.size(-1))).softmax(dim=-1)
    return weights @ memory


turned_attention = Exercise(
    reference=_turned_attention,
    mistakes={
        "each source word shares out 1 among the targets; each target must share out 1.": (
            lambda x, m: (m @ x.mT / x.size(-1) ** 0.5).softmax(-1).mT @ m
        ),
        "the memory asks: the result has a vector for each source word.": (
            lambda x, m: _turned_attention(m, x)
        ),
        "you never look at the memory: this is self-attention of the target.": (
            lambda x, m: _turned_attention(x, x)
        ),
        "x never asks: this is self-attention of the memory.": (
            lambda x, m: _turned_attention(m, m)
        ),
        "the factor 1/√d is missing.": lambda x, m: (x @ m.mT).softmax(-1) @ m,
        "the softmax is missing: these weights do not sum to 1.": (
            lambda x, m: x @ m.mT / x.size(-1) ** 0.5 @ m
        ),
        "these are the weights; the output is their sum of the memory.": (
            lambda x, m: (x @ m.mT / x.size(-1) ** 0.5).softmax(-1)
        ),
        "all scores of a sentence share out 1; each row must.": (
            lambda x, m: (
                (x @ m.mT / x.size(-1) ** 0.5).flatten(-2).softmax(-1).view((x @ m.mT).shape) @ m
            )
        ),
    },
    cases=random_cases("... tgt d", "... src d"),
)

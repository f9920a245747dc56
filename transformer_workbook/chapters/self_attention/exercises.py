import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import SelfAttention
from transformer_workbook.judge import (
    Unfit,
    derivation,
    equal,
    exercise,
    form,
    is_number,
    normal,
    numbers_for,
    put_to_work,
    question,
    random_cases,
    show,
)
from transformer_workbook.judge.sentences import said


@exercise(random_cases("d_k", "n d_k", "n d_v"))
def one_output(
    query: Float[Tensor, " d_k"], keys: Float[Tensor, "n d_k"], values: Float[Tensor, "n d_v"]
) -> Float[Tensor, " d_v"]:
    """Find the output of scaled dot-product attention for one query."""
    scores = keys @ query / math.sqrt(query.size(0))
    weights = scores.softmax(dim=0)
    return weights @ values


@exercise(random_cases("batch query d_k", "batch key d_k", "batch key d_v"))
def batched_attention(
    query: Float[Tensor, "batch query d_k"],
    key: Float[Tensor, "batch key d_k"],
    value: Float[Tensor, "batch key d_v"],
) -> Float[Tensor, "batch query d_v"]:
    """Attend within every sentence of a batch."""
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return weights @ value


def _look(answer: Callable[[int], Any], cards: Int[Tensor, "children 3"], kinds: int) -> Any:
    """Give a head two matrices, and return whom the children attend to, however faintly.

    The right matrices have to be large enough as well; of wrong ones, the size matters little.
    """
    matrices = answer(kinds)
    if matrices is None:
        return None
    x = F.one_hot(cards, kinds).flatten(1).double()
    right = (cards[:, 1, None] == cards[:, 0]).double()
    try:
        query, key = (x @ torch.as_tensor(matrix).double() for matrix in matrices)
        scores = query @ key.mT / math.sqrt(key.size(-1))
    except (TypeError, ValueError, RuntimeError) as error:
        raise Unfit(said("return two matrices, each ({rows}, d_k)", rows=3 * kinds)) from error
    whom, weights = ((size * scores).softmax(-1).round(decimals=2) for size in (1e6, 1))
    if equal(whom, right) and not equal(weights, right):
        raise Unfit(
            said(
                "the right child has the largest weight, but not nearly all of it: "
                "make one matrix larger."
            )
        )
    return whom


def _cards(*rows: tuple[int, int, int]) -> Int[Tensor, "children 3"]:
    """Cards of a party: name, drawn name, gift."""
    return torch.tensor(rows)


@exercise(
    [
        (_cards((0, 2, 1), (1, 0, 2), (3, 1, 4), (2, 3, 0)), 5),
        (_cards((5, 3, 0), (0, 5, 4), (4, 0, 3), (1, 4, 5), (3, 1, 2)), 6),
        (_cards((7, 2, 8), (2, 6, 7), (6, 1, 5), (1, 8, 6), (4, 7, 2), (8, 4, 0)), 9),
        (_cards((90, 12, 31), (12, 45, 0), (45, 77, 99), (77, 90, 5)), 100),
    ],
    ask=_look,
)
def head_by_hand(
    kinds: int,
) -> tuple[Float[Tensor, "width d_k"], Float[Tensor, "width d_k"]]:
    """Write the two matrices with which all children attend to whom they drew."""
    name, drawn, _ = torch.eye(3 * kinds).view(3, kinds, -1)  # select each a part of X
    W_Q = 100 * drawn.T
    W_K = name.T
    return W_Q, W_K


@derivation([(16, 4.0, 1.0), (5, 2.0, 3.0), (64, 0.5, 0.25)])
def score_variances(d_k: int, var_q: float, var_k: float) -> tuple[float, float, float, float]:
    """Find the variance of a product, of a dot product, of a scaled score, and its deviation."""
    product = var_q * var_k
    dot = d_k * product
    score = dot / d_k  # a variance shrinks by the square of the divisor, √d_k
    return product, dot, score, math.sqrt(score)


WIDTHS = (1, 4, 16, 64, 256, 1024)


@cache
def _largest_weight(d_k: int) -> float:
    """The largest of ten weights, averaged over many random queries and keys."""
    generator = torch.Generator().manual_seed(0)  # and float64: other numbers are drawn in float32
    query = torch.randn(2000, 1, d_k, generator=generator, dtype=torch.float64)
    key = torch.randn(2000, 10, d_k, generator=generator, dtype=torch.float64)
    scores = (query * key).sum(-1)
    return scores.softmax(-1).amax(-1).mean().item()


@question
def nearly_one_key(answer: Any, say: Callable[..., str]) -> str:
    """From which d_k on does one of ten keys get most of the weight, if nothing is divided?"""
    right = next(d_k for d_k in WIDTHS if _largest_weight(d_k) > 0.9)
    if not is_number(answer):
        return say("no number", form=form(answer))
    if 0 < answer < 1:
        return say("a weight")
    if answer not in WIDTHS:
        return say("no width", answer=show(answer), widths=", ".join(map(str, WIDTHS)))
    if answer < right:
        return say("too small", d_k=int(answer), weight=_largest_weight(int(answer)))
    return say("too large") if answer > right else ""


Weights = dict[str, Tensor]


def _put_to_work(
    kind: Callable[..., nn.Module], x: Float[Tensor, "*batch time d_model"], weights: Weights
) -> Any:
    """Build a layer, give it weights, and let sentences pass through it."""
    d_k, d_v = (len(weights[f"{name}.weight"]) for name in ("key", "value"))
    return put_to_work(kind(x.size(-1), d_k, d_v), weights, x)


def _case(
    *axes: int, d_k: int, d_v: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Weights]:
    """Sentences, and weights for a layer that reads them."""
    weights = numbers_for(SelfAttention, axes[-1], d_k, d_v, dtype=dtype)
    return normal(*axes, seed=10, dtype=dtype), weights


@exercise(
    [
        _case(4, 6, d_k=3, d_v=5),
        _case(2, 5, 7, d_k=4, d_v=3, dtype=torch.float32),
        _case(3, 2, 4, 8, d_k=5, d_v=6),
    ],
    ask=_put_to_work,
    gap=True,
)
def self_attention_layer(d_model: int, d_k: int, d_v: int) -> nn.Module:
    """Write a layer of self-attention with matrices for queries, keys and values."""

    class SelfAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(d_model, d_k, bias=False)
            self.key = nn.Linear(d_model, d_k, bias=False)
            self.value = nn.Linear(d_model, d_v, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            q, k, v = self.query(x), self.key(x), self.value(x)
            scores = q @ k.mT / math.sqrt(d_k)
            weights = scores.softmax(dim=-1)
            output: Tensor = weights @ v
            return output

    return SelfAttention()

"""Bahdanau attention: its layer."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.soft_lookup import masked_softmax
from transformer_workbook.exercises.cases import loaded, random_cases
from transformer_workbook.judge.exercises import Exercise


def _additive_attention(
    query: Float[Tensor, "*batch query d_s"],
    memory: Float[Tensor, "*batch key d_h"],
    mask: Bool[Tensor, "*batch 1 key"],
    W_s: Float[Tensor, "d d_s"],
    W_h: Float[Tensor, "d d_h"],
    v: Float[Tensor, " d"],
) -> Float[Tensor, "*batch query d_h"]:
    """Additive attention for any axes in front; nothing to attend to gives 0."""
    pairs = torch.tanh((query @ W_s.mT).unsqueeze(-2) + (memory @ W_h.mT).unsqueeze(-3))
    return masked_softmax(pairs @ v, mask) @ memory


def _ask(answer: Any, query: Tensor, memory: Tensor, mask: Tensor, *weights: Tensor) -> Any:
    """Build a class, give it the weights, and run it; the reference is a function of all."""
    if isinstance(answer, nn.Module):
        raise TypeError("the class itself is asked for, not one layer of it")
    if not isinstance(answer, type):
        return answer(query, memory, mask, *weights)
    W_s, W_h, v = weights
    named = {"W_s.weight": W_s, "W_h.weight": W_h, "v_a.weight": v[None]}
    layer = loaded(answer(query.size(-1), memory.size(-1), len(v)), named)
    with torch.no_grad():
        return None if layer is None else layer(query, memory, mask)


def _wrong(
    score: Callable[..., Tensor] = lambda s, h, v: torch.tanh(s + h) @ v,
    weigh: Callable[..., Tensor] = masked_softmax,
    values: Callable[[Tensor, Tensor], Tensor] = lambda h, keys: h,
) -> Callable[..., Tensor]:
    """A layer in which one of the steps is another."""

    def attend(query: Tensor, memory: Tensor, mask: Tensor, *weights: Tensor) -> Tensor:
        W_s, W_h, v = weights
        keys = memory @ W_h.mT
        scores = score((query @ W_s.mT).unsqueeze(-2), keys.unsqueeze(-3), v)
        return weigh(scores, mask) @ values(memory, keys)

    return attend


def _cases() -> list[tuple[Tensor, ...]]:
    """In the second and third case one row of a mask hides everything."""
    shapes = "... query d_s", "... key d_h", "... one key", "d d_s", "d d_h", "d"
    cases = []
    for query, memory, x, *weights in random_cases(*shapes):
        mask = x[..., :1, :] > 0
        mask[..., -1] = True
        if mask.dim() > 2:
            mask.view(-1, mask.size(-1))[0] = False
        cases.append((query, memory, mask, *weights))
    return cases


additive_attention = Exercise(
    reference=_additive_attention,
    given={
        "where there is nothing to attend to, the result is nan; 0 is asked for.": (
            _wrong(weigh=lambda e, mask: e.masked_fill(~mask, -torch.inf).softmax(-1))
        ),
        "where there is nothing to attend to, this is the mean of all words; 0 is asked for.": (
            _wrong(weigh=lambda e, mask: e.masked_fill(~mask, -1e9).softmax(-1))
        ),
        "masked words get weight: these contexts do not depend on the mask.": (
            _wrong(weigh=lambda e, mask: e.softmax(-1))
        ),
        "the mask is inverted: True means may attend.": (
            _wrong(weigh=lambda e, mask: masked_softmax(e, ~mask))
        ),
        "masked after the softmax: the weights that are left no longer sum to 1.": (
            _wrong(weigh=lambda e, mask: e.softmax(-1) * mask)
        ),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1.": (
            _wrong(weigh=lambda e, mask: (e * mask).softmax(-1))
        ),
        "the weights are shared out among the queries; each query shares out 1 among the keys.": (
            _wrong(weigh=lambda e, mask: e.softmax(-2) * mask)
        ),
        "the softmax is missing: these are sums with the scores as weights.": (
            _wrong(weigh=lambda e, mask: e)
        ),
        "all queries of a sentence get the same context: tanh is missing.": (
            _wrong(lambda s, h, v: (s + h) @ v)
        ),
        "tanh comes before v: it squeezes each unit, not the score.": (
            _wrong(lambda s, h, v: torch.tanh((s + h) @ v))
        ),
        "the scores are divided by √d; this score is not.": (
            _wrong(lambda s, h, v: torch.tanh(s + h) @ v / len(v) ** 0.5)
        ),
        "the scores are divided by d; this score is a sum, not a mean.": (
            _wrong(lambda s, h, v: torch.tanh(s + h) @ v / len(v))
        ),
        "the units are divided by √d, before tanh; they are not scaled.": (
            _wrong(lambda s, h, v: torch.tanh((s + h) / len(v) ** 0.5) @ v)
        ),
        "W_h h is subtracted; the two halves are added.": (
            _wrong(lambda s, h, v: torch.tanh(s - h) @ v)
        ),
        "the units go through ReLU; tanh is asked for.": (
            _wrong(lambda s, h, v: torch.relu(s + h) @ v)
        ),
        "the score goes through tanh a second time.": (
            _wrong(lambda s, h, v: torch.tanh(torch.tanh(s + h) @ v))
        ),
        "these units are sigmoids; tanh is asked for.": (
            _wrong(lambda s, h, v: torch.sigmoid(s + h) @ v)
        ),
        "tanh squeezes the two halves apart; it must see their sum, or they never meet.": (
            _wrong(lambda s, h, v: (torch.tanh(s) + torch.tanh(h)) @ v)
        ),
        "the two halves are multiplied; this score adds them.": (
            _wrong(lambda s, h, v: torch.tanh(s * h) @ v)
        ),
        "the units are only added up; each has a weight of its own in v.": (
            _wrong(lambda s, h, v: torch.tanh(s + h).sum(-1))
        ),
        "the context mixes the keys W_h h; the values are the h themselves.": (
            _wrong(values=lambda h, keys: keys)
        ),
        "these are the weights; the context is their mixture of the memory.": (
            _wrong(values=lambda h, keys: torch.eye(h.size(-2)).to(h))
        ),
    },
    cases=_cases(),
    ask=_ask,
)

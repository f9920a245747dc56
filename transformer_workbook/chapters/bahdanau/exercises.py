from collections.abc import Set
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.soft_lookup import masked_softmax
from transformer_workbook.judge import (
    derivation,
    exercise,
    letters,
    normal,
    number,
    put_to_work,
    random_cases,
)


@exercise(
    [
        (normal(2, seed=0), normal(3, seed=1), normal(3, seed=2), 0.5),
        (normal(4, seed=4).float(), normal(3, seed=3).float(), normal(3, seed=5).float(), 1.5),
        (normal(4, seed=6), normal(6, seed=7), normal(6, seed=8), 0.8),
    ]
)
def nadaraya_watson(
    query: Float[Tensor, " n"],
    keys: Float[Tensor, " m"],
    values: Float[Tensor, " m"],
    bandwidth: float,
) -> Float[Tensor, " n"]:
    """Kernel regression: a guess for every query."""
    distance = query[:, None] - keys
    scores = -(distance**2) / (2 * bandwidth**2)
    weights = scores.softmax(dim=1)
    return weights @ values


@derivation(
    [
        (normal(4, seed=0), normal(4, 3, seed=1), 1),
        (normal(3, seed=2).float(), normal(3, 5, seed=3).float(), 0),
        (normal(5, seed=4), normal(5, 2, seed=5), 4),
    ]
)
def by_one_score(
    scores: Float[Tensor, " key"], values: Float[Tensor, "key d"], j: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The weights, the context, and their derivatives with respect to one score."""

    def attend(scores: Tensor) -> tuple[Tensor, Tensor]:
        weights = scores.softmax(dim=0)
        return weights, weights @ values

    weights, context = attend(scores)
    of_weights, of_context = torch.func.jacrev(attend)(scores)
    return weights, context, of_weights[:, j], of_context[:, j]


def _additive_cases() -> list[tuple[Tensor, ...]]:
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


def _build_and_run(
    answer: Any, query: Tensor, memory: Tensor, mask: Tensor, *weights: Tensor
) -> Any:
    """Build a class, give it the weights, and run it; the reference is a function of all."""
    if isinstance(answer, nn.Module):
        raise TypeError("the class itself is asked for, not one layer of it")
    if not isinstance(answer, type):
        return answer(query, memory, mask, *weights)
    W_s, W_h, v = weights
    named = {"W_s.weight": W_s, "W_h.weight": W_h, "v_a.weight": v[None]}
    layer = answer(query.size(-1), memory.size(-1), len(v))
    return put_to_work(layer, named, query, memory, mask)


@exercise(_additive_cases(), ask=_build_and_run)
def additive_attention(
    query: Float[Tensor, "*batch query d_s"],
    memory: Float[Tensor, "*batch key d_h"],
    mask: Bool[Tensor, "*batch 1 key"],
    W_s: Float[Tensor, "d d_s"],
    W_h: Float[Tensor, "d d_h"],
    v: Float[Tensor, " d"],
) -> Float[Tensor, "*batch query d_h"]:
    """Additive attention for any axes in front; nothing to attend to gives 0."""
    asked = (query @ W_s.mT).unsqueeze(-2)
    keys = memory @ W_h.mT
    scores = torch.tanh(asked + keys.unsqueeze(-3)) @ v
    weights = masked_softmax(scores, mask)
    return weights @ memory


@exercise(
    [
        (normal(2, 3, 4, seed=0), torch.tensor([[[1, 1, 0, 0]], [[1, 1, 1, 0]]]).bool()),
        (
            normal(3, 4, 2, seed=1, dtype=torch.float32),
            torch.tensor([[[1, 0]], [[0, 1]], [[1, 0]]]).bool(),
        ),
        (normal(2, 4, 3, seed=2), torch.tensor([[[1, 0, 1]], [[0, 1, 1]]]).bool()),
    ]
)
def attention_weights(
    scores: Float[Tensor, "batch query key"], mask: Bool[Tensor, "batch 1 key"]
) -> Float[Tensor, "batch query key"]:
    """The weights of every query, from scores and a mask."""
    masked = scores.masked_fill(~mask, -torch.inf)
    return masked.softmax(dim=-1)


@letters
def same_weights() -> str:
    """Which changes leave all attention weights as they are?"""
    s, other, shift = normal(3, 4, seed=0)
    h, v = normal(5, 4, seed=1), normal(6, seed=2)
    W_s, W_h = normal(2, 6, 4, seed=3)
    order = torch.arange(6).flip(0)
    scores = torch.tanh(W_s @ s + h @ W_h.mT) @ v
    before_and_after = {
        "A": (scores, scores + 5),
        "B": (scores, scores * 2),
        "C": (scores, torch.tanh(-W_s @ s - h @ W_h.mT) @ -v),
        "D": (scores, torch.tanh(W_s @ s + (h + shift) @ W_h.mT) @ v),
        "E": (scores, torch.tanh(W_s[order] @ s + h @ W_h[order].mT) @ v[order]),
        "F": ((W_s @ s + h @ W_h.mT) @ v, (W_s @ other + h @ W_h.mT) @ v),
    }
    return "".join(
        letter
        for letter, (before, after) in before_and_after.items()
        if torch.allclose(before.softmax(dim=0), after.softmax(dim=0))
    )


Links = Set[tuple[int, int]]


@exercise(
    [
        ({(0, 1), (1, 0), (2, 2)}, {(0, 1), (1, 3), (2, 0)}),
        ({(0, 0), (1, 1), (2, 2), (0, 3)}, {(0, 0), (3, 1), (1, 1)}),
        ({(0, 2), (1, 1), (3, 0), (2, 4)}, {(0, 2), (1, 1), (4, 0), (3, 3), (2, 3), (5, 5)}),
        ({(0, 0), (1, 2), (2, 1), (4, 2), (3, 3), (3, 1)}, {(0, 0), (1, 2), (2, 1), (4, 5)}),
        ({(0, 0), (1, 1), (2, 3)}, {(0, 0), (1, 1)}),
    ]
)
def alignment_error(predicted: Links, gold: Links) -> float:
    """The alignment error rate of one sentence."""
    aligned = {target for _, target in gold}
    judged = {(source, target) for source, target in predicted if target in aligned}
    hits = len(judged & gold)
    return 1 - 2 * hits / (len(judged) + len(gold))


SHARPNESSES = 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0


@number(among=SHARPNESSES)
def best_sharpness() -> float:
    """Which sharpness guesses a hidden reading best?"""
    hours = torch.arange(24, dtype=torch.float64)
    degrees = 15 - 5 * torch.cos((hours - 3) * torch.pi / 12) + 2 * torch.sin(7 * hours**2)
    squares = (hours[:, None] - hours) ** 2
    itself = torch.eye(24).bool()

    def error(sharpness: float) -> float:
        scores = -sharpness * squares / 2
        weights = scores.masked_fill(itself, -torch.inf).softmax(dim=1)
        return float(((weights @ degrees - degrees) ** 2).mean())

    return min(SHARPNESSES, key=error)


Weights = dict[str, Tensor]


def _look(
    kind: Any, query: Tensor, h: Tensor, mask: Tensor, weights: Weights
) -> tuple[Tensor, Tensor] | None:
    """Build a layer, give it weights, and let queries look at rows."""
    layer = kind(query.size(-1), h.size(-1), len(weights["W.weight"]))
    return put_to_work(layer, weights, query, h, mask)


def _case(
    batch: int, row: int, query: int, width: int, hidden: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor, Weights]:
    """Queries, rows, a mask that hides some of them, and weights for a layer."""
    shapes = {"W": (hidden, query), "U": (hidden, width), "v": (1, hidden)}
    weights = {
        f"{name}.weight": normal(*shape, seed=seed, dtype=dtype)
        for seed, (name, shape) in enumerate(shapes.items())
    }
    mask = (torch.arange(row) + 1) % (torch.arange(batch)[:, None] + 2) > 0
    return (
        normal(batch, query, seed=3, dtype=dtype),
        normal(batch, row, width, seed=4, dtype=dtype),
        mask,
        weights,
    )


@exercise(
    [
        _case(2, 5, query=3, width=4, hidden=6),
        _case(3, 4, query=5, width=2, hidden=6, dtype=torch.float32),
        _case(1, 6, query=2, width=5, hidden=3),
        _case(4, 1, query=5, width=6, hidden=7),
    ],
    ask=_look,
    gap=True,
)
def additive_layer(query_dim: int, row_dim: int, hidden: int) -> nn.Module:
    """Write a layer that scores rows by a small network, and returns their mean and its weights."""

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.W = nn.Linear(query_dim, hidden, bias=False)
            self.U = nn.Linear(row_dim, hidden, bias=False)
            self.v = nn.Linear(hidden, 1, bias=False)

        def forward(self, query: Tensor, h: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
            wanted = self.W(query)[:, None]
            offered = self.U(h)
            scores = self.v(torch.tanh(wanted + offered)).squeeze(-1)
            masked = scores.masked_fill(~mask, -torch.inf)
            weights = masked.softmax(dim=-1)
            context = (weights[:, None] @ h).squeeze(1)
            return context, weights

    return Attention()

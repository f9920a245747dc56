"""What heads do: take something away, and see what changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal

NARROW = torch.float32


def _remove_heads(
    W: Float[Tensor, "d_model heads_d"], heads: Sequence[int], num_heads: int
) -> Float[Tensor, "d_model heads_d"]:
    d = W.size(1) // num_heads
    removed = W.clone()
    for head in heads:
        removed[:, head * d : (head + 1) * d] = 0
    return removed


def _others(heads: Sequence[int], num_heads: int) -> list[int]:
    return [head for head in range(num_heads) if head not in heads]


def _by_rows(W: Tensor, heads: Sequence[int], num_heads: int) -> Tensor:
    d, removed = W.size(1) // num_heads, W.clone()
    for head in heads:
        removed[head * d : (head + 1) * d] = 0
    return removed


def _by_turns(W: Tensor, heads: Sequence[int], num_heads: int) -> Tensor:
    removed = W.clone()
    for head in heads:
        removed[:, head::num_heads] = 0
    return removed


def _one_column(W: Tensor, heads: Sequence[int], num_heads: int) -> Tensor:
    removed = W.clone()
    removed[:, list(heads)] = 0
    return removed


remove_heads = Exercise(
    reference=_remove_heads,
    mistakes={
        "you clear rows; what a head adds stands in columns of W here: y = x @ W.T.": _by_rows,
        "you clear every num_heads-th column; the columns of a head stand side by side.": _by_turns,
        "you clear one column for a head; a head has d of them.": _one_column,
        "these are the heads to remove; you keep them and remove the others.": (
            lambda W, heads, h: _remove_heads(W, _others(heads, h), h)
        ),
        "only the first head of the list is removed.": (
            lambda W, heads, h: _remove_heads(W, heads[:1], h)
        ),
        "heads are counted from 0; you remove the head before.": (
            lambda W, heads, h: _remove_heads(W, [head - 1 for head in heads if head], h)
        ),
        "the columns are gone; they have to stay, with zeros in them.": (
            lambda W, heads, h: torch.cat(
                [W.chunk(h, dim=1)[head] for head in _others(heads, h)], dim=1
            )
        ),
        "the whole matrix is zero; the other heads stay.": lambda W, heads, h: torch.zeros_like(W),
        "nothing is removed.": lambda W, heads, h: W.clone(),
    },
    cases=[
        (normal(3, 8, seed=0), [1], 4),
        (normal(4, 6, seed=1, dtype=NARROW), [2, 0], 3),
        (normal(5, 6, seed=2), [0], 2),
    ],
)


@dataclass(frozen=True)
class _Loss:
    """The loss of a model of which only W^O can change; a larger W is not always better."""

    seed: int

    def __call__(self, W: Tensor) -> float:
        x = normal(W.size(1), seed=self.seed, dtype=W.dtype)
        return float((torch.tanh(W @ x) - 0.5).square().sum())

    def __repr__(self) -> str:
        return "loss"


def _head_damages(
    W: Float[Tensor, "d_model heads_d"], num_heads: int, loss: Callable[[Tensor], float]
) -> list[float]:
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        removed = W.clone()
        removed[:, head * d : (head + 1) * d] = 0
        damages.append(loss(removed) - whole)
    return damages


def _cumulative(W: Tensor, num_heads: int, loss: Callable[[Tensor], float]) -> list[float]:
    return [
        loss(_remove_heads(W, range(head + 1), num_heads)) - loss(W) for head in range(num_heads)
    ]


def _from_the_last(W: Tensor, num_heads: int, loss: Callable[[Tensor], float]) -> list[float]:
    losses = [loss(_remove_heads(W, range(head), num_heads)) for head in range(num_heads + 1)]
    return [after - before for before, after in pairwise(losses)]


def _kept(W: Tensor, num_heads: int, loss: Callable[[Tensor], float]) -> list[float]:
    return [
        loss(_remove_heads(W, _others([head], num_heads), num_heads)) - loss(W)
        for head in range(num_heads)
    ]


head_damages = Exercise(
    reference=_head_damages,
    mistakes={
        "the heads before are still removed; start from the whole W for each head.": _cumulative,
        "each loss is compared with the one before, and the heads before are still removed.": (
            _from_the_last
        ),
        "this is the loss itself; subtract the loss of the whole.": (
            lambda W, h, loss: [loss(_remove_heads(W, [head], h)) for head in range(h)]
        ),
        "the sign is reversed: a damage is a loss that grows.": (
            lambda W, h, loss: [-damage for damage in _head_damages(W, h, loss)]
        ),
        "you keep this head and remove all others; it is to be the other way round.": _kept,
        "the damage is divided by the whole loss; the difference is asked for.": (
            lambda W, h, loss: [damage / loss(W) for damage in _head_damages(W, h, loss)]
        ),
        "some heads help the loss when they are removed; their damage is negative, not 0.": (
            lambda W, h, loss: [max(0.0, damage) for damage in _head_damages(W, h, loss)]
        ),
        "you clear every num_heads-th column; the columns of a head stand side by side.": (
            lambda W, h, loss: [loss(_by_turns(W, [head], h)) - loss(W) for head in range(h)]
        ),
    },
    cases=[
        (normal(3, 8, seed=0), 4, _Loss(5)),
        (normal(4, 6, seed=1, dtype=NARROW), 3, _Loss(6)),
        (normal(5, 6, seed=2), 2, _Loss(7)),
    ],
)

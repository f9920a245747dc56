"""What heads do: take a head away, and see what changes."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Derivation, Exercise
from annotated_transformer.course.exercises.cases import normal

NARROW = torch.float32


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
    """How far does the loss rise without each head?"""
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        removed = W.clone()
        removed[:, head * d : (head + 1) * d] = 0
        damages.append(loss(removed) - whole)
    return damages


def _block(W: Tensor, head: int, num_heads: int) -> Tensor:
    """Where the block of a head stands: True in its columns."""
    return (torch.arange(W.size(1)) // (W.size(1) // num_heads) == head).expand_as(W)


def _every_nth(W: Tensor, head: int, num_heads: int) -> Tensor:
    return (torch.arange(W.size(1)) % num_heads == head).expand_as(W)


def _one_column(W: Tensor, head: int, num_heads: int) -> Tensor:
    return (torch.arange(W.size(1)) == head).expand_as(W)


def _rows(W: Tensor, head: int, num_heads: int) -> Tensor:
    d = W.size(1) // num_heads
    return (torch.arange(len(W)) // d == head)[:, None].expand_as(W)


def _rises(without: list[float], whole: float) -> list[float]:
    return [loss - whole for loss in without]


def _faulty(
    gone: Callable[[Tensor, int, int], Tensor] = _block,
    tell: Callable[[list[float], float], list[float]] = _rises,
    before: bool = False,
) -> Callable[..., list[float]]:
    """A faulty answer: what goes with a head, what is told of the losses, what stays removed."""

    def answer(W: Tensor, num_heads: int, loss: Callable[[Tensor], float]) -> list[float]:
        masks = [gone(W, head, num_heads) for head in range(num_heads)]
        if before:
            masks = list(accumulate(masks, torch.logical_or))
        return tell([loss(W.masked_fill(mask, 0)) for mask in masks], loss(W))

    return answer


head_damages = Exercise(
    reference=_head_damages,
    mistakes={
        "the heads before are still removed; start from the whole W for each head.": (
            _faulty(before=True)
        ),
        "each loss is compared with the one before, and the heads before are still removed.": (
            _faulty(
                tell=lambda without, whole: [b - a for a, b in pairwise([whole, *without])],
                before=True,
            )
        ),
        "this is the loss itself; subtract the loss with all heads.": (
            _faulty(tell=lambda without, whole: without)
        ),
        "the sign is reversed: a damage is a loss that rises.": (
            _faulty(tell=lambda without, whole: [whole - loss for loss in without])
        ),
        "this head is kept, and all others are removed.": _faulty(lambda *where: ~_block(*where)),
        "the damage is divided by the whole loss; the difference is asked for.": (
            _faulty(tell=lambda without, whole: [loss / whole - 1 for loss in without])
        ),
        "without some heads the loss falls; their damage is negative, not 0, and keeps its sign.": (
            _faulty(tell=lambda without, whole: [max(0.0, loss - whole) for loss in without])
        ),
        "these are the damages without their signs; without some heads the loss falls.": (
            _faulty(tell=lambda without, whole: [abs(loss - whole) for loss in without])
        ),
        "every num_heads-th column is zero; the columns of a head stand side by side.": (
            _faulty(_every_nth)
        ),
        "one column is zero for a head; a head has d of them.": _faulty(_one_column),
        "rows are zero; what a head adds stands in columns of W, as y = x @ W.T.": _faulty(_rows),
    },
    cases=[
        (normal(3, 8, seed=0), 4, _Loss(5)),
        (normal(4, 6, seed=1, dtype=NARROW), 3, _Loss(6)),
        (normal(5, 6, seed=2), 2, _Loss(7)),
    ],
)


def _parts_of_the_stream(
    x: Float[Tensor, "query d_model"],
    A: Float[Tensor, "heads query key"],
    V: Float[Tensor, "heads key d"],
    W: Float[Tensor, "d_model heads_d"],
    h: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What does one head add to the residual stream, and what is left without it?"""
    gathered = A @ V
    blocks = torch.stack(W.chunk(len(A), dim=1))
    added = gathered @ blocks.mT
    after = x + added.sum(0)
    return gathered[h], added[h], after, after - added[h]


def _reshaped(columns: bool, residual: bool) -> Callable[..., tuple[Tensor, ...]]:
    """The same with other columns of W for a head, or without the residual connection."""

    def answer(x: Tensor, A: Tensor, V: Tensor, W: Tensor, h: int) -> tuple[Tensor, ...]:
        d = V.size(2)
        W = W.view(len(W), d, len(A)).mT.flatten(1) if columns else W
        return _parts_of_the_stream(x * residual, A, V, W, h)

    return answer


parts_of_the_stream = Derivation(
    reference=_parts_of_the_stream,
    mistakes={
        "every heads-th column of W is taken for a head; its d columns stand side by side.": (
            _reshaped(columns=True, residual=True)
        ),
        "the residual connection is missing: x stands in the stream, too.": (
            _reshaped(columns=False, residual=False)
        ),
    },
    cases=[
        (
            normal(3, 6, seed=0, dtype=dtype),
            normal(2, 3, 4, seed=1, dtype=dtype).softmax(-1),
            normal(2, 4, 5, seed=2, dtype=dtype),
            normal(6, 10, seed=3, dtype=dtype),
            h,
        )
        for h, dtype in ((1, torch.float64), (0, NARROW))
    ],
)

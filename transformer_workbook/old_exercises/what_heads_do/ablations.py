"""What heads do: take a head away, and see what changes."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise

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


def _cut(columns: Callable[[int, int, int, int], tuple[int, int]]) -> Callable[..., Tensor]:
    """Where a slice of columns stands, told of head, d, number of heads, and rows of W."""

    def gone(W: Tensor, head: int, num_heads: int) -> Tensor:
        mask = torch.zeros_like(W, dtype=torch.bool)
        mask[:, slice(*columns(head, W.size(1) // num_heads, num_heads, len(W)))] = True
        return mask

    return gone


CUTS: dict[str, Callable[[int, int, int, int], tuple[int, int]]] = {
    "all columns from the head's first on are zero": lambda h, d, n, rows: (h * d, n * d),
    "the next head's block is zero": lambda h, d, n, rows: ((h + 1) * d, (h + 2) * d),
    "only the first column of the block is zero": lambda h, d, n, rows: (h * d, h * d + 1),
    "the last column of the block is left": lambda h, d, n, rows: (h * d, (h + 1) * d - 1),
    "the block is a column too wide": lambda h, d, n, rows: (h * d, (h + 1) * d + 1),
    "the columns from h on are zero": lambda h, d, n, rows: (h, h + d),
    "the columns h to (h + 1)·d are zero": lambda h, d, n, rows: (h, (h + 1) * d),
    "num_heads stands for d": lambda h, d, n, rows: (h * n, (h + 1) * n),
}
"""Which other columns may go with a head."""


def _filled(
    fill: Callable[[Tensor], Tensor], base: Callable[[Tensor], Tensor] = lambda W: W
) -> Callable[..., list[float]]:
    """Something else than 0 in the block of a head, or compared with another W than the whole."""

    def answer(W: Tensor, num_heads: int, loss: Callable[[Tensor], float]) -> list[float]:
        places = [_block(W, head, num_heads)[0] for head in range(num_heads)]
        changed = [W.clone() for _ in places]
        for other, place in zip(changed, places, strict=True):
            other[:, place] = fill(W[:, place])
        return [loss(other) - loss(base(W)) for other in changed]

    return answer


head_damages = Exercise(
    reference=_head_damages,
    given={
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
        **{
            f"{what}; the columns of head h are h·d to (h + 1)·d.": _faulty(_cut(columns))
            for what, columns in CUTS.items()
        },
        "d comes from the wrong axis; it is W.size(1) // num_heads.": (
            _faulty(_cut(lambda h, d, n, rows: (h * (rows // n), (h + 1) * (rows // n))))
        ),
        "these are quotients, the loss divided by that of all heads; subtract.": (
            _faulty(tell=lambda without, whole: [loss / whole for loss in without])
        ),
        "the mean damage is subtracted, not the loss with all heads.": (
            _faulty(tell=lambda without, whole: [x - sum(without) / len(without) for x in without])
        ),
        "the heads before are still removed, and these are the losses, not their rise.": (
            _faulty(tell=lambda without, whole: without, before=True)
        ),
        "the heads before are still removed, and the sign is reversed.": (
            _faulty(tell=lambda without, whole: [whole - loss for loss in without], before=True)
        ),
        "each loss is compared with that without the head before, not with all heads.": (
            _faulty(tell=lambda without, whole: [b - a for a, b in pairwise([whole, *without])])
        ),
        "the heads before are still removed, and each loss is compared with that of no head.": (
            _faulty(tell=lambda without, whole: [x - without[-1] for x in without], before=True)
        ),
        "the losses are compared with the loss of no head; compare with that of all heads.": (
            _filled(lambda block: 0 * block, torch.zeros_like)
        ),
        "the block is filled with its mean; a head that is left out adds 0.": (
            _filled(lambda block: block.mean().expand_as(block))
        ),
        "the block is filled with ones; a head that is left out adds 0.": _filled(torch.ones_like),
        "the block is halved; a head that is left out adds 0.": _filled(lambda block: block / 2),
        "the sign of the block is turned; a head that is left out adds 0.": _filled(torch.neg),
        "rows are zero; what a head adds stands in columns of W, as y = x @ W.T.": _faulty(_rows),
    },
    cases=[
        (normal(3, 8, seed=0), 4, _Loss(5)),
        (normal(4, 6, seed=1, dtype=NARROW), 3, _Loss(6)),
        (normal(5, 6, seed=2), 2, _Loss(7)),
    ],
)

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_workbook.judge import derivation, exercise, letters, normal


def _four(pairs: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    """Log-probabilities of two answers, by a model and by its reference."""
    return tuple(3 * normal(pairs, seed=pairs + i, dtype=dtype) - 4 for i in range(4))


@exercise(
    [
        (*_four(5), 1.0),
        (*_four(3, dtype=torch.float32), 0.1),
        (*_four(7), 2.5),
    ],
    gap=True,
)
def preference_loss(
    good: Float[Tensor, " pair"],
    bad: Float[Tensor, " pair"],
    good_before: Float[Tensor, " pair"],
    bad_before: Float[Tensor, " pair"],
    beta: float,
) -> Float[Tensor, ""]:
    """Write the loss of direct preference optimisation."""
    gain = good - good_before
    margin = gain - (bad - bad_before)
    return -F.logsigmoid(beta * margin).mean()


def _adapted(
    kind: Callable[..., nn.Module], weight: Tensor, x: Tensor, rank: int, alpha: float
) -> Any:
    """What a layer says before training and with other numbers, how many it trains, and if it can.

    The numbers of A and B are drawn by their shapes.
    """
    layer = nn.Linear(weight.size(1), weight.size(0), bias=False, dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
    torch.manual_seed(0)
    mine = kind(layer, rank, alpha).to(weight.dtype)
    before = mine(x)
    if before is None:
        return None
    trained = [p for p in mine.parameters() if p.requires_grad]
    slopes = torch.autograd.grad(before.square().sum(), trained, allow_unused=True)
    learns = any(slope is not None and bool(slope.abs().max() > 0) for slope in slopes)
    with torch.no_grad():
        for name in ("A", "B"):
            numbers = getattr(mine, name)
            numbers.copy_(normal(*numbers.shape, seed=ord(name), dtype=weight.dtype))
        after = mine(x)
    return before.detach(), after, sum(p.numel() for p in trained), learns


@exercise(
    [
        (normal(5, 3, seed=0), normal(4, 3, seed=1), 2, 6.0),
        (normal(4, 6, seed=2).float(), normal(2, 5, 6, seed=3).float(), 3, 3.0),
        (normal(7, 4, seed=4), normal(3, 4, seed=5), 2, 1.0),
    ],
    ask=_adapted,
    gap=True,
)
def low_rank_layer(layer: nn.Linear, rank: int, alpha: float) -> nn.Module:
    """Write a layer that adds a change of low rank to a frozen one."""

    class LoRA(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer.requires_grad_(False)
            d_out, d_in = layer.weight.shape
            self.A = nn.Parameter(torch.randn(rank, d_in) / math.sqrt(d_in))
            self.B = nn.Parameter(torch.zeros(d_out, rank))
            self.scale = alpha / rank

        def forward(self, x: Tensor) -> Tensor:
            change = x @ self.A.T @ self.B.T
            frozen: Tensor = self.layer(x)
            return frozen + self.scale * change

    return LoRA()


@exercise(
    [
        (normal(2, 6, 9, seed=0), torch.tensor([[3, 7, 4, 8, 5, 6], [1, 2, 8, 3, 2, 0]]), 3),
        (
            normal(3, 5, 8, seed=1).float(),
            torch.tensor([[1, 7, 4, 2, 0], [5, 1, 2, 3, 6], [4, 6, 2, 0, 0]]),
            2,
        ),
        (normal(2, 7, 10, seed=2), torch.tensor([[9, 1, 4, 4, 2, 3, 0], [5, 1, 9, 8, 6, 7, 8]]), 4),
    ]
)
def log_p_of_answers(
    logits: Float[Tensor, "batch time vocab"], ids: Int[Tensor, "batch time"], start: int
) -> Float[Tensor, " batch"]:
    """Add up the log-probabilities of the tokens from a place on; 0 fills short rows."""
    log_p = logits[:, :-1].log_softmax(dim=-1)
    labels = ids[:, 1:]
    each = log_p.gather(-1, labels[..., None])[..., 0]
    each = each * (labels != 0)
    return each[:, start - 1 :].sum(dim=1)


@letters
def a_new_reference() -> str:
    """Which loss has a model that has just become its own reference?"""
    return "A"  # the notebook's solution tries it


@derivation([(1 / 8, 1 / 2, 0.75, 1.0), (0.3, 0.1, 0.35, 0.5), (0.02, 0.4, 0.6, 2.0)])
def where_dpo_settles(
    good: float, bad: float, often: float, beta: float
) -> tuple[float, float, float]:
    """Derive margin, ratio of the probabilities and loss where the loss of one pair is least."""
    margin = math.log(often / (1 - often)) / beta
    ratio = good / bad * math.exp(margin)
    loss = -often * math.log(often) - (1 - often) * math.log(1 - often)
    return margin, ratio, loss


@exercise(
    [
        (normal(5, 3, seed=0), normal(2, 3, seed=1), normal(5, 2, seed=2), 6.0),
        (
            normal(4, 6, seed=3).float(),
            normal(3, 6, seed=4).float(),
            normal(4, 3, seed=5).float(),
            1.0,
        ),
        (normal(7, 4, seed=6), normal(2, 4, seed=7), normal(7, 2, seed=8), 5.0),
    ]
)
def merged_weight(
    W: Float[Tensor, "d_out d_in"],
    A: Float[Tensor, "rank d_in"],
    B: Float[Tensor, "d_out rank"],
    alpha: float,
) -> Float[Tensor, "d_out d_in"]:
    """Merge a change of low rank into its matrix."""
    rank = len(A)
    change = B @ A
    return W + alpha / rank * change


@exercise(
    [
        (*_four(5), torch.tensor([3, 10, 4, 2, 7]), 1.0, 0.5),
        (*_four(3, dtype=torch.float32), torch.tensor([6, 2, 9]), 0.1, 1.0),
        (*_four(4), torch.tensor([8, 3, 5, 2]), 2.0, 2.0),
    ]
)
def with_likelihood(
    good: Float[Tensor, " pair"],
    bad: Float[Tensor, " pair"],
    good_before: Float[Tensor, " pair"],
    bad_before: Float[Tensor, " pair"],
    length: Int[Tensor, " pair"],
    beta: float,
    weight: float,
) -> Float[Tensor, ""]:
    """Add to DPO's loss the weighted mean of −log p per token of the preferred answers."""
    margin = (good - good_before) - (bad - bad_before)
    likelihood = -good / length
    losses = -F.logsigmoid(beta * margin) + weight * likelihood
    return losses.mean()

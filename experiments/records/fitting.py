"""The training of the records whose models are small modules of their own."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def cosine(step: int, steps: int, warmup: float) -> float:
    """Return the share of the learning rate at a step, from 0: warm-up, then a cosine to 0."""
    return min((step + 1) / warmup, (1 + math.cos(math.pi * step / steps)) / 2)


def fit(
    model: nn.Module, rate: float, steps: int, warmup: int, loss_at: Callable[[int], Tensor]
) -> None:
    """Train with Adam, a short warm-up and linear decay, on the loss of every step, from 0."""
    adam = torch.optim.Adam(model.parameters(), lr=rate, eps=1e-6)
    for step in range(steps):
        adam.param_groups[0]["lr"] = rate * min((step + 1) / warmup, 1 - step / steps)
        loss: Any = loss_at(step)
        adam.zero_grad()
        loss.backward()
        adam.step()


def fit_one_cycle(
    model: nn.Module,
    rate: float,
    steps: int,
    loss_at: Callable[[int], Tensor],
    optimizer: type[torch.optim.Optimizer] = torch.optim.Adam,
) -> None:
    """Train as a page of the book does, with PyTorch's OneCycleLR, on the loss of every step."""
    trained: Any = optimizer([p for p in model.parameters() if p.requires_grad])
    schedule = torch.optim.lr_scheduler.OneCycleLR(trained, rate, steps)
    for step in range(steps):
        loss: Any = loss_at(step)
        trained.zero_grad()
        loss.backward()
        trained.step()
        schedule.step()

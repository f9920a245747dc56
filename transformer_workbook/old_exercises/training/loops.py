"""Training: loops by hand that are wrong in one place."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.tokens import PAD

BETAS = (0.9, 0.98)
Gradients = list[Tensor]
PartLosses = Callable[[Tensor, Tensor], Tensor]


def shares(losses: Tensor, real: Tensor) -> Tensor:
    """What each part adds to the loss per token."""
    return (losses * real).sum(1) / real.sum()


def means(losses: Tensor, real: Tensor) -> Tensor:
    """The mean of each part."""
    return (losses * real).sum(1) / real.sum(1)


def shortened(gradients: Gradients, limit: float) -> Gradients:
    """The gradients, made shorter together where their norm is above a limit."""
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g * min(1.0, float(limit / norm)) for g in gradients]


def faulty(
    losses_of: PartLosses = shares,
    smooth: float = 1.0,
    clips_inside: bool = False,
    clip: Callable[[Gradients, float], Gradients] = shortened,
    betas: tuple[float, float] = BETAS,
    corrected: tuple[bool, bool] = (True, True),
    piles_up: bool = False,
    forgets: bool = False,
    plain: bool = False,
    moves: tuple[int, int] = (-1, -1),
    late: int = 0,
    ages: bool = False,
    divided: bool = False,
    root: Callable[[Tensor], Tensor] = torch.sqrt,
    squared: Callable[[Tensor], Tensor] = torch.square,
) -> Callable[..., Gradients]:
    """A training by hand that is wrong in one place."""

    def train(
        W: Tensor, b: Tensor, x: Tensor, y: Tensor, rate: float, limit: float, smoothing: float
    ) -> Gradients:
        weights = [W, b]
        gradient, mean, square = ([torch.zeros_like(w) for w in weights] for _ in range(3))
        for t, (inputs, targets) in enumerate(zip(x, y, strict=True), start=1):
            W, b = (w.requires_grad_() for w in weights)
            losses = F.cross_entropy(
                (inputs @ W + b).mT, targets, reduction="none", label_smoothing=smooth * smoothing
            )
            if not piles_up:
                gradient = [torch.zeros_like(w) for w in weights]
            for share in losses_of(losses, targets != PAD):
                found = torch.autograd.grad(share, (W, b), retain_graph=True)
                gradient = [g + more for g, more in zip(gradient, found, strict=True)]
                if clips_inside:
                    gradient = shortened(gradient, limit)
            gradient = clip(gradient, limit)
            if divided:
                gradient = [g / (targets != PAD).sum() for g in gradient]
            if forgets:
                mean, square = ([torch.zeros_like(w) for w in weights] for _ in range(2))
            weights = [w.detach() for w in weights]
            for i, g in enumerate(gradient):
                mean[i] = betas[0] * mean[i] + (1 - betas[0]) * g
                square[i] = betas[1] * square[i] + (1 - betas[1]) * squared(g)
                age = 1 if forgets and not ages else t + late
                m, v = (
                    total / (1 - beta**age) if fair else total
                    for total, beta, fair in zip(
                        (mean[i], square[i]), betas, corrected, strict=True
                    )
                )
                weights[i] = weights[i] + moves[i] * rate * (g if plain else m / (root(v) + 1e-9))
        return weights

    return train

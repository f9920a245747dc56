"""Muon: an optimiser for matrices, which moves all directions of a matrix by about as much."""

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_number


def orthogonalise(matrix: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
    """Bring all singular values near 1, without computing them: U S Vᵀ becomes about U Vᵀ.

    X ← a X + (b X Xᵀ + c (X Xᵀ)²) X, five times, which is a s + b s³ + c s⁵ for each of them.

    Source: Jordan et al. 2024, the quintic Newton–Schulz iteration with its coefficients.
    """
    x = matrix if len(matrix) <= matrix.size(1) else matrix.T
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x if len(matrix) <= matrix.size(1) else x.T


class Muon(Optimizer):
    """Momentum, then an orthogonalised step: W ← W − η √max(1, rows/columns) orth(g + μ (m − g)).

    m = μ m + (1 − μ) g is the momentum. Weights of matrices alone: embeddings, biases and norms
    are for AdamW.

    Source: Jordan et al. 2024, with Nesterov's momentum.

    Raises:
        InputError: if a parameter is not a matrix, or a number is out of its range.
    """

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add matrices, with settings of their own."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        require_number("lr", group["lr"])
        require_number("momentum", group["momentum"], below=1.0)
        for matrix in group["params"]:
            if matrix.dim() != 2:
                raise InputError(f"a parameter has {matrix.dim()} axes, Muon takes matrices: two.")

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Take one step."""
        for group in self.param_groups:
            for matrix in (p for p in group["params"] if p.grad is not None):
                mean = self.state[matrix].setdefault("mean", torch.zeros_like(matrix))
                mean.lerp_(matrix.grad, 1 - group["momentum"])
                update = orthogonalise(matrix.grad.lerp(mean, group["momentum"]))
                rate = group["lr"] * max(1, len(matrix) / matrix.size(1)) ** 0.5
                matrix.sub_(update, alpha=rate)


class MuonAndAdamW(Optimizer):
    """Muon for the matrices of a model's layers, AdamW for its other parameters.

    The others are embeddings, the matrix before the softmax, biases and norms. Both follow the same
    schedule.

    Source: Jordan et al. 2024.

    Raises:
        InputError: if the momentum is out of its range.
    """

    def __init__(self, model: nn.Module, momentum: float = 0.95, **adamw: Any) -> None:
        """Divide the parameters; ``adamw`` are settings of ``torch.optim.AdamW``."""
        super().__init__(model.parameters(), {"lr": 0.0})
        embedded = {
            id(weight)
            for name, weight in model.named_parameters(remove_duplicate=False)
            if "embedding" in name or name.startswith("output.")
        }
        by_muon: list[nn.Parameter] = []
        by_adamw: list[nn.Parameter] = []
        for weight in model.parameters():
            is_inner = weight.dim() == 2 and id(weight) not in embedded
            (by_muon if is_inner else by_adamw).append(weight)
        self.parts = [
            *([Muon(by_muon, 0.0, momentum)] if by_muon else []),
            *([AdamW(by_adamw, 0.0, **adamw)] if by_adamw else []),
        ]
        for part in self.parts:
            part.state = self.state
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    def step(self) -> None:  # type: ignore[override]
        """Take one step."""
        for part in self.parts:
            part.step()

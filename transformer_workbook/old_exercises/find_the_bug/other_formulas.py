"""Find the bug: formulas that a reader may write for layer normalisation."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_workbook.exercises.cases import normal

X = normal(2, 3, 8, seed=0)
Norm = nn.LayerNorm


def is_by_hand(
    part: Norm,
    unbiased: bool = False,
    add: Callable[[Tensor, float], Tensor] = lambda variance, eps: (variance + eps).sqrt(),
    atol: float = 1e-8,
    rtol: float = 1e-5,
) -> bool:
    """Whether a normalisation is that of a formula, which may have a mistake."""
    variance = X.var(-1, keepdim=True, unbiased=unbiased)
    right = (X - X.mean(-1, keepdim=True)) / add(variance, part.eps) * part.weight + part.bias
    return torch.allclose(part(X), right, atol=atol, rtol=rtol)


OTHER_FORMULAS: dict[str, Callable[[Norm], bool]] = {
    "weight is forgotten; in a trained healthy model the gain is not 1.": (
        lambda part: torch.allclose(part(X), F.layer_norm(X, (8,), None, part.bias, part.eps))
    ),
    "bias is forgotten; in a trained healthy model it is not 0.": (
        lambda part: torch.allclose(part(X), F.layer_norm(X, (8,), part.weight, None, part.eps))
    ),
    "ε is added to σ, outside the root; add it to σ² there.": (
        lambda part: is_by_hand(part, add=lambda variance, eps: variance.sqrt() + eps)
    ),
    "ε is forgotten; it stands under the root.": (
        lambda part: is_by_hand(part, add=lambda variance, _: variance.sqrt(), atol=1e-4)
    ),
    "ε is squared under the root; it stands there as it is.": (
        lambda part: is_by_hand(part, add=lambda variance, eps: (variance + eps**2).sqrt())
    ),
    "weight and bias are swapped: γ multiplies, and β is added.": (
        lambda part: torch.allclose(
            part(X), F.layer_norm(X, (8,), part.bias, part.weight, part.eps)
        )
    ),
    "right for an ε of 0 alone: it stands under the root, added to σ².": (
        lambda part: is_by_hand(
            part, add=lambda variance, _: variance.sqrt(), atol=1e-12, rtol=1e-12
        )
    ),
    "γ and β meet other numbers than (x − μ)/√(σ² + ε), μ and σ² taken over the last axis.": (
        lambda part: torch.allclose(part(X), part.weight * X.flip(-1) + part.bias)
    ),
    "the result must have mean 0 and deviation 1 here; gain and bias change that.": (
        lambda part: (
            torch.allclose(part(X).mean(-1), torch.zeros(2, 3).double(), atol=1e-3)
            and torch.allclose(part(X).std(-1, correction=0), torch.ones(2, 3).double(), atol=1e-3)
        )
    ),
}
"""What else is taken for a right normalisation."""

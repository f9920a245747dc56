"""Cross-attention: what the memory learns through it."""

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Derivation
from annotated_transformer.course.exercises.cases import normal

Pair = Float[Tensor, "tgt src"]


def _memory_gradient(
    X: Float[Tensor, "tgt d"], M: Float[Tensor, "src d"], A: Pair, G: Float[Tensor, "tgt d"]
) -> tuple[Float[Tensor, "src d"], Pair, Pair, Float[Tensor, "src d"], Float[Tensor, "src d"]]:
    """Derive the gradient that the memory gets through cross-attention."""
    as_values = A.mT @ G
    by_weights = G @ M.mT
    by_scores = A * (by_weights - (A * by_weights).sum(dim=1, keepdim=True))
    as_keys = by_scores.mT @ X
    return as_values, by_weights, by_scores, as_keys, as_values + as_keys


def _looks(tgt: int, src: int, d: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    shapes = (tgt, d), (src, d), (tgt, d)
    X, M, G = (normal(*shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes))
    return X, M, (X @ M.mT).softmax(1), G


def _through_weights(X: Tensor, M: Tensor, A: Tensor, B: Tensor) -> tuple[Tensor, ...]:
    """The last steps without the sum of the row."""
    return A * B, (A * B).mT @ X


memory_gradient = Derivation(
    reference=_memory_gradient,
    mistakes={
        "step 5 is wrong: the memory is key and value at once, so it gets both gradients.": (
            lambda X, M, A, G: (*_memory_gradient(X, M, A, G)[:4], A.mT @ G)
        ),
        "step 3 is wrong: the sum over the row, which the softmax brings, is missing.": (
            lambda X, M, A, G: (
                A.mT @ G,
                G @ M.mT,
                *_through_weights(X, M, A, G @ M.mT),
                A.mT @ G + _through_weights(X, M, A, G @ M.mT)[1],
            )
        ),
    },
    cases=[
        _looks(2, 3, 4, torch.float64),
        _looks(5, 4, 3, torch.float32),
        _looks(4, 6, 2, torch.float64),
    ],
)

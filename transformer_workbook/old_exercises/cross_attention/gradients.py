"""Cross-attention: what the memory learns through it."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Derivation

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


def _steps(
    values: Callable[..., Tensor] = lambda X, M, A, G: A.mT @ G,
    weights: Callable[..., Tensor] = lambda X, M, A, G: G @ M.mT,
    scores: Callable[..., Tensor] = lambda A, B: A * (B - (A * B).sum(dim=1, keepdim=True)),
    keys: Callable[..., Tensor] = lambda X, M, G, S: S.mT @ X,
    both: Callable[[Tensor, Tensor], Tensor] = torch.add,
) -> Callable[..., tuple[Tensor, ...]]:
    """The steps, each made of those before it, with another formula in one of them."""

    def steps(X: Tensor, M: Tensor, A: Tensor, G: Tensor) -> tuple[Tensor, ...]:
        V, B = values(X, M, A, G), weights(X, M, A, G)
        S = scores(A, B)
        K = keys(X, M, G, S)
        return V, B, S, K, both(V, K)

    return steps


memory_gradient = Derivation(
    reference=_memory_gradient,
    given={
        "step 1 has the scores in place of the weights, A.": (
            _steps(values=lambda X, M, A, G: (X @ M.mT).mT @ G)
        ),
        "step 1 has X for G: the gradient of the output is what is weighted.": (
            _steps(values=lambda X, M, A, G: A.mT @ X)
        ),
        "step 2 has X for G: it begins with the gradient of the output.": (
            _steps(weights=lambda X, M, A, G: X @ M.mT)
        ),
        "step 2 is weighted with A already; that comes with the softmax, in step 3.": (
            _steps(weights=lambda X, M, A, G: A * (G @ M.mT))
        ),
        "step 3 is wrong: the sum over the row, which the softmax brings, is missing.": (
            _steps(scores=lambda A, B: A * B)
        ),
        "step 3 sums down each column, over the targets; the softmax goes along the row.": (
            _steps(scores=lambda A, B: A * (B - (A * B).sum(dim=0, keepdim=True)))
        ),
        "step 3 sums over all of A ⊙ B; each row has its own sum.": (
            _steps(scores=lambda A, B: A * (B - (A * B).sum()))
        ),
        "step 3 sums B without its weights: the dot product is that of A and B.": (
            _steps(scores=lambda A, B: A * (B - B.sum(dim=1, keepdim=True)))
        ),
        "step 3 takes the mean of the row; the dot product is a sum.": (
            _steps(scores=lambda A, B: A * (B - (A * B).mean(dim=1, keepdim=True)))
        ),
        "step 3 lacks the factor A in front.": (
            _steps(scores=lambda A, B: B - (A * B).sum(dim=1, keepdim=True))
        ),
        "step 3 has A ⊙ B less the sum of the row; the sum has the factor A, too.": (
            _steps(scores=lambda A, B: A * B - (A * B).sum(dim=1, keepdim=True))
        ),
        "step 3 adds the sum of the row; it is subtracted.": (
            _steps(scores=lambda A, B: A * (B + (A * B).sum(dim=1, keepdim=True)))
        ),
        "step 3 has A (1 − A) B; a score changes all weights of its row.": (
            _steps(scores=lambda A, B: A * (1 - A) * B)
        ),
        "step 3 is the softmax of B; its derivative is asked for.": (
            _steps(scores=lambda A, B: B.softmax(1))
        ),
        "step 4 has B for the gradient by the scores; that is step 3.": (
            _steps(keys=lambda X, M, G, S: (G @ M.mT).mT @ X)
        ),
        "step 4 has A for the gradient by the scores; that is step 3.": (
            _steps(keys=lambda X, M, G, S: (X @ M.mT).softmax(1).mT @ X)
        ),
        "step 4 has G for X: the scores are X times the keys.": (
            _steps(keys=lambda X, M, G, S: S.mT @ G)
        ),
        "step 4 has the gradient of X: what the keys get is multiplied by X.": (
            _steps(keys=lambda X, M, G, S: S @ M, both=lambda V, K: V)
        ),
        "step 5 is what the memory gets as values; as keys it gets something, too.": (
            _steps(both=lambda V, K: V)
        ),
        "step 5 is what the memory gets as keys; as values it gets something, too.": (
            _steps(both=lambda V, K: K)
        ),
        "step 5 is a difference; both gradients are added.": _steps(both=torch.sub),
        "step 5 is a product; both gradients are added.": _steps(both=torch.mul),
        "step 5 is the mean of both gradients; they are added.": (
            _steps(both=lambda V, K: (V + K) / 2)
        ),
        "step 1 has the output for G: what is weighted is the gradient that arrives.": (
            _steps(values=lambda X, M, A, G: A.mT @ (A @ M))
        ),
        "step 1 has the mean over the target's rows; every row adds its part.": (
            _steps(values=lambda X, M, A, G: A.mT @ G / len(A))
        ),
        "step 2 is divided by √d; the scaling is left out here.": (
            _steps(weights=lambda X, M, A, G: G @ M.mT / M.size(1) ** 0.5)
        ),
        "step 3 subtracts 1 from B: the row sum of A alone.": (
            _steps(scores=lambda A, B: A * (B - A.sum(dim=1, keepdim=True)))
        ),
        "step 3 has A and B swapped: the factor in front is A, B is in the bracket.": (
            _steps(scores=lambda A, B: B * (A - (A * B).sum(dim=1, keepdim=True)))
        ),
        "step 3 subtracts the mean of B; the dot product weighs it with A.": (
            _steps(scores=lambda A, B: A * (B - B.mean(dim=1, keepdim=True)))
        ),
        "step 3 has A twice in front.": (
            _steps(scores=lambda A, B: A * A * (B - (A * B).sum(dim=1, keepdim=True)))
        ),
        "step 4 is divided by √d; the scaling is left out here.": (
            _steps(keys=lambda X, M, G, S: S.mT @ X / X.size(1) ** 0.5)
        ),
        "step 5 has what the memory gets as keys twice.": _steps(both=lambda V, K: V + 2 * K),
    },
    cases=[
        _looks(2, 3, 4, torch.float64),
        _looks(5, 4, 3, torch.float32),
        _looks(4, 6, 2, torch.float64),
    ],
)

"""Layers: shortcuts, and where the normalisation stands."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _stack_derivatives(derivative: float, layers: int) -> tuple[float, float]:
    """What is the derivative of a stack: without shortcuts, and with them?"""
    return derivative**layers, (1 + derivative) ** layers


stack_derivatives = Exercise(
    reference=_stack_derivatives,
    mistakes={
        "with shortcuts you add 1 once; every layer has a shortcut, so add 1 in each factor.": (
            lambda a, n: (a**n, a**n + 1)
        ),
        "these are sums; the derivative of a chain is the product.": (
            lambda a, n: (n * a, n * (1 + a))
        ),
        "without shortcuts it is right; with them you add where you must multiply.": (
            lambda a, n: (a**n, n * (1 + a))
        ),
        "1 + n · derivative holds for a tiny derivative only; multiply the factors out.": (
            lambda a, n: (a**n, 1 + n * a)
        ),
        "you multiply by the number of layers; multiply the layers' derivatives together.": (
            lambda a, n: (n * a, 1 + n * a)
        ),
        "these are sizes, without signs; an odd number of negative factors is negative.": (
            lambda a, n: (abs(a) ** n, abs(1 + a) ** n)
        ),
        "the first is a size, without its sign; an odd number of negative factors is negative.": (
            lambda a, n: (abs(a) ** n, (1 + a) ** n)
        ),
        "both are the derivative without shortcuts.": lambda a, n: (a**n, a**n),
        "the shortcut does not make the derivative 1; it adds 1 to it.": lambda a, n: (a**n, 1.0),
        "the two are swapped: first without shortcuts, then with.": (
            lambda a, n: ((1 + a) ** n, a**n)
        ),
        "you count one layer too few.": lambda a, n: (a ** (n - 1), (1 + a) ** (n - 1)),
        "this is one layer; the stack has several.": lambda a, n: (a, 1 + a),
    },
    cases=[(0.5, 3), (-0.5, 4), (-0.5, 3), (-1.5, 3), (0.1, 6)],
)


def _normalise(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _stack(
    layer: Callable[[Tensor, Tensor], Tensor], last: Callable[[Tensor], Tensor] = torch.clone
) -> Callable[..., Tensor]:
    """A stack of such layers, and what comes after it."""

    def run(x: Tensor, W: Tensor) -> Tensor:
        for matrix in W:
            x = layer(x, matrix)
        return last(x)

    return run


def _pre_norm_stack(
    x: Float[Tensor, "*batch d"], W: Float[Tensor, "layers d d"]
) -> Float[Tensor, "*batch d"]:
    """Fix the pre-norm stack of a friend, which has two mistakes."""
    for matrix in W:
        x = x + torch.relu(_normalise(x) @ matrix)
    return _normalise(x)


pre_norm_stack = Exercise(
    reference=_pre_norm_stack,
    mistakes={
        "two mistakes are left: one on the shortcut, and one after the last layer.": (
            _stack(lambda x, W: _normalise(x) + torch.relu(_normalise(x) @ W))
        ),
        "one mistake is left: the shortcut must carry x itself, not the normalised x.": (
            _stack(lambda x, W: _normalise(x) + torch.relu(_normalise(x) @ W), _normalise)
        ),
        "one mistake is left: after the last layer the sum has never been normalised.": (
            _stack(lambda x, W: x + torch.relu(_normalise(x) @ W))
        ),
        "the sub-layer must read the normalised x, and the shortcut x itself; here they swap.": (
            _stack(lambda x, W: _normalise(x) + torch.relu(x @ W), _normalise)
        ),
        "the shortcut and what the sub-layer reads are swapped, and the end is not normalised.": (
            _stack(lambda x, W: _normalise(x) + torch.relu(x @ W))
        ),
        "every sum is normalised, too; only what the sub-layer reads is, and the end.": (
            _stack(lambda x, W: _normalise(x + torch.relu(_normalise(x) @ W)))
        ),
        "x is normalised before the first layer and at the end; every sub-layer needs its own.": (
            lambda x, W: _stack(lambda y, M: y + torch.relu(y @ M), _normalise)(_normalise(x), W)
        ),
        "x is normalised once, before the first layer, and never again.": (
            lambda x, W: _stack(lambda y, M: y + torch.relu(y @ M))(_normalise(x), W)
        ),
        "this is post-norm: pre-norm normalises what the sub-layer reads.": (
            _stack(lambda x, W: _normalise(x + torch.relu(x @ W)))
        ),
        "the sub-layer reads x as it is; it must read the normalised x.": (
            _stack(lambda x, W: x + torch.relu(x @ W), _normalise)
        ),
        "the normalisations are missing.": _stack(lambda x, W: x + torch.relu(x @ W)),
        "the shortcut is missing now.": (
            _stack(lambda x, W: torch.relu(_normalise(x) @ W), _normalise)
        ),
        "what the sub-layer gives is normalised; normalise what it reads.": (
            _stack(lambda x, W: x + _normalise(torch.relu(x @ W)), _normalise)
        ),
        "every shortcut starts from the input of the stack; it starts from its own layer's.": (
            lambda x, W: _stack(lambda y, M: x + torch.relu(_normalise(y) @ M), _normalise)(x, W)
        ),
    },
    cases=[
        (normal(4, seed=20), normal(2, 4, 4, seed=21)),
        (
            normal(4, 5, seed=2, dtype=torch.float32),
            normal(3, 5, 5, seed=3, dtype=torch.float32),
        ),
        (normal(2, 5, 3, seed=4), normal(4, 3, 3, seed=5)),
    ],
)

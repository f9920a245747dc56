"""Training: a step of Adam."""

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _adam_update(
    gradients: Float[Tensor, "steps weights"], rate: float, beta1: float, beta2: float, eps: float
) -> Float[Tensor, " weights"]:
    first = second = torch.zeros_like(gradients[0])
    for gradient in gradients:
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient**2
    first = first / (1 - beta1 ** len(gradients))
    second = second / (1 - beta2 ** len(gradients))
    return -rate * first / (second**0.5 + eps)


def _means(g: Tensor, b: float) -> Tensor:
    """The running mean, with the zeros of its beginning still in it."""
    shares = (1 - b) * b ** torch.arange(len(g) - 1, -1, -1).to(g)
    return shares @ g


def _fair(g: Tensor, b: float) -> Tensor:
    return _means(g, b) / (1 - b ** len(g))


adam_update = Exercise(
    reference=_adam_update,
    mistakes={
        "the two means begin at 0 and are too small at first: divide by 1 − βᵗ.": (
            lambda g, r, a, b, e: -r * _means(g, a) / (_means(g**2, b).sqrt() + e)
        ),
        "the mean of the squares begins at 0 too: divide it by 1 − β₂ᵗ.": (
            lambda g, r, a, b, e: -r * _fair(g, a) / (_means(g**2, b).sqrt() + e)
        ),
        "the mean of the gradients begins at 0 too: divide it by 1 − β₁ᵗ.": (
            lambda g, r, a, b, e: -r * _means(g, a) / (_fair(g**2, b).sqrt() + e)
        ),
        "t is off by one: the first gradient has t = 1.": (
            lambda g, r, a, b, e: (
                -r
                * _means(g, a)
                / (1 - a ** (len(g) + 1))
                / ((_means(g**2, b) / (1 - b ** (len(g) + 1))).sqrt() + e)
            )
        ),
        "this is the way of all steps together; what the last step adds is asked for.": (
            lambda g, r, a, b, e: sum(_adam_update(g[:t], r, a, b, e) for t in range(1, len(g) + 1))
        ),
        "the minus is missing: this step goes uphill.": (
            lambda g, r, a, b, e: r * _fair(g, a) / (_fair(g**2, b).sqrt() + e)
        ),
        "the root is missing: divide by the root of the mean square.": (
            lambda g, r, a, b, e: -r * _fair(g, a) / (_fair(g**2, b) + e)
        ),
        "ε stands outside of the root.": (
            lambda g, r, a, b, e: -r * _fair(g, a) / (_fair(g**2, b) + e).sqrt()
        ),
        "ε is missing: it keeps a small root from making a large step.": (
            lambda g, r, a, b, e: -r * _fair(g, a) / _fair(g**2, b).sqrt()
        ),
        "β₁ and β₂ are swapped.": (
            lambda g, r, a, b, e: -r * _fair(g, b) / (_fair(g**2, a).sqrt() + e)
        ),
        "you square the mean of the gradients; take the mean of their squares.": (
            lambda g, r, a, b, e: -r * _fair(g, a) / (_fair(g, b).abs() + e)
        ),
        "you use the last gradient alone above the line; Adam has a running mean there.": (
            lambda g, r, a, b, e: -r * g[-1] / (_fair(g**2, b).sqrt() + e)
        ),
        "this is plain gradient descent: nothing is divided by the size of the gradient.": (
            lambda g, r, a, b, e: -r * g[-1]
        ),
        "β and 1 − β are swapped in the running means.": (
            lambda g, r, a, b, e: -r * _fair(g, 1 - a) / (_fair(g**2, 1 - b).sqrt() + e)
        ),
        "the rate is missing.": lambda g, r, a, b, e: -_fair(g, a) / (_fair(g**2, b).sqrt() + e),
    },
    cases=[
        (normal(3, 2, seed=0), 0.1, 0.9, 0.98, 0.05),
        (normal(4, 3, seed=1, dtype=torch.float32), 0.5, 0.8, 0.95, 0.01),
        (normal(2, 5, seed=3), 2.0, 0.5, 0.4, 0.1),
    ],
)

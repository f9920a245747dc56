"""Layers: normalisation by the root of the mean square, and the derivative of a normalisation."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.functional import jacobian

from annotated_transformer.course.checking import Derivation, Exercise
from annotated_transformer.course.exercises.cases import normal


def _rms_norm(
    x: Float[Tensor, "*batch d"], gain: Float[Tensor, " d"], eps: float
) -> Float[Tensor, "*batch d"]:
    """Divide by the root of the mean square, and multiply by the gain."""
    return gain * x / ((x**2).mean(dim=-1, keepdim=True) + eps) ** 0.5


def _mean(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True)


def _centred(x: Tensor) -> Tensor:
    return x - _mean(x)


def _over(
    divisor: Callable[[Tensor, float], Tensor], above: Callable[[Tensor], Tensor] = torch.clone
) -> Callable[..., Tensor]:
    """A normalisation with another divisor, or with something else above it."""
    return lambda x, gain, eps: gain * above(x) / divisor(x, eps)


rms_norm = Exercise(
    reference=_rms_norm,
    mistakes={
        "these are divided by the root of the sum of the squares; take their mean.": (
            _over(lambda x, eps: ((x**2).sum(-1, keepdim=True) + eps) ** 0.5)
        ),
        "these are vectors of length 1: take the mean of the squares, not their sum.": (
            _over(lambda x, eps: x.norm(dim=-1, keepdim=True))
        ),
        "the mean is subtracted: that is LayerNorm; RMSNorm leaves it alone.": (
            _over(lambda x, eps: (_mean(_centred(x) ** 2) + eps) ** 0.5, above=_centred)
        ),
        "you divide by the standard deviation; the squares are those of x, with its mean.": (
            _over(lambda x, eps: (_mean(_centred(x) ** 2) + eps) ** 0.5)
        ),
        "this is the unbiased standard deviation of x; the mean of its squares is asked for.": (
            _over(lambda x, eps: (x.var(-1, keepdim=True) + eps) ** 0.5)
        ),
        "the square of the mean is not the mean of the squares: square first.": (
            _over(lambda x, eps: (_mean(x) ** 2 + eps) ** 0.5)
        ),
        "eps is outside the root: it is added to the mean square, not to its root.": (
            _over(lambda x, eps: _mean(x**2) ** 0.5 + eps)
        ),
        "eps is missing.": _over(lambda x, eps: _mean(x**2) ** 0.5),
        "you divide by the mean square; take its root.": _over(lambda x, eps: _mean(x**2) + eps),
        "`** 1 / 2` is half of the power 1; write `** 0.5` or `.sqrt()`.": (
            lambda x, gain, eps: gain * x / (_mean(x**2) + eps) ** 1 / 2
        ),
        "you multiply by the root; divide by it.": (
            _over(lambda x, eps: (_mean(x**2) + eps) ** -0.5)
        ),
        "these are divided by the mean of the absolute values; take squares, and the root.": (
            _over(lambda x, eps: _mean(x.abs()) + eps)
        ),
        "the mean goes over everything; each position is normalised by itself.": (
            _over(lambda x, eps: ((x**2).mean() + eps) ** 0.5)
        ),
        "the mean goes over the first axis; each position is normalised over its own numbers.": (
            _over(lambda x, eps: ((x**2).mean(0, keepdim=True) + eps) ** 0.5)
        ),
        "the gain is missing.": lambda x, gain, eps: _rms_norm(x, torch.ones_like(gain), eps),
        "the gain is multiplied before the normalisation; it comes after it.": (
            lambda x, gain, eps: _rms_norm(gain * x, torch.ones_like(gain), eps)
        ),
        "the gain is added; multiply by it.": (
            lambda x, gain, eps: _rms_norm(x, torch.ones_like(gain), eps) + gain
        ),
        "you divide by the gain; multiply by it.": (
            lambda x, gain, eps: _rms_norm(x, 1 / gain, eps)
        ),
    },
    cases=[
        (normal(*shape, seed=i, dtype=dtype), normal(shape[-1], seed=i + 1, dtype=dtype), eps)
        for i, (shape, dtype, eps) in enumerate(
            [
                ((4,), torch.float64, 0.1),
                ((2, 3), torch.float32, 0.5),
                ((3, 2, 5), torch.float64, 0.01),
            ]
        )
    ],
)


def _deviation(x: Tensor) -> Tensor:
    return x.std(correction=0)


def _normalise(x: Tensor) -> Tensor:
    return _centred(x) / _deviation(x)


def _layer_norm_derivative(
    x: Float[Tensor, " d"], g: Float[Tensor, " d"]
) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"], Float[Tensor, " d"]]:
    """Derive how a layer normalisation without ε changes with its input, in three steps."""
    derivative = jacobian(_normalise, x)  # type: ignore[no-untyped-call]
    return jacobian(_deviation, x), derivative, g @ derivative  # type: ignore[no-untyped-call]


def _derived(*, mean: int = 1, deviation: int = 1, correction: int = 0) -> Callable[..., Any]:
    """The steps by formulas, with the mean or the deviation as constants, or another deviation."""

    def steps(x: Tensor, g: Tensor) -> tuple[Tensor, ...]:
        d, sigma = len(x), x.std(correction=correction)
        n = _centred(x) / sigma
        derivative = torch.eye(d).to(x) - mean / d - deviation * torch.outer(n, n) / d
        return n / d, derivative / sigma, g @ derivative / sigma

    return steps


def _ask(answer: Callable[..., Any], x: Tensor, g: Tensor) -> Any:
    """In the precision that PyTorch makes new tensors in, such as ``torch.eye(d)``."""
    return answer(*(y.to(torch.get_default_dtype()) for y in (x, g)))


layer_norm_derivative = Derivation(
    ask=_ask,
    reference=_layer_norm_derivative,
    mistakes={
        "all steps take the unbiased deviation; layer normalisation divides by d, not d − 1.": (
            _derived(correction=1)
        ),
        "step 2 is wrong: the mean is taken as constant; it moves with every number, by 1/d.": (
            _derived(mean=0)
        ),
        "step 2 is wrong: σ is taken as constant; use step 1.": (_derived(deviation=0)),
    },
    cases=[
        (normal(4, seed=0), normal(4, seed=1)),
        (normal(3, seed=2, dtype=torch.float32), normal(3, seed=3, dtype=torch.float32)),
        (5 * normal(6, seed=4), normal(6, seed=5)),
    ],
)

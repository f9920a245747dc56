"""Layers: normalisation by the root of the mean square."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


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
    given={
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
        "eps is outside the root; add it to the mean square, under the root.": (
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
        "the squares' mean loses its axis; keep it, with `keepdim=True`, to divide each row.": (
            _over(lambda x, eps: ((x**2).mean(-1) + eps) ** 0.5)
        ),
        "the squares' sum loses its axis; take the mean, with `keepdim=True`.": (
            _over(lambda x, eps: ((x**2).sum(-1) + eps) ** 0.5)
        ),
        "these are divided by the square of the mean square; take its root.": (
            _over(lambda x, eps: (_mean(x**2) + eps) ** 2)
        ),
        "eps stands under the root and beside it; add it once, to the mean square.": (
            _over(lambda x, eps: (_mean(x**2) + eps) ** 0.5 + eps)
        ),
        "eps² is added to the mean square; add eps.": (
            _over(lambda x, eps: (_mean(x**2) + eps**2) ** 0.5)
        ),
        "eps is subtracted from the mean square; add it.": (
            _over(lambda x, eps: (_mean(x**2) - eps) ** 0.5)
        ),
        "eps is added before squaring; add it to the mean square.": (
            _over(lambda x, eps: _mean((x + eps) ** 2) ** 0.5)
        ),
        "the squares are divided by d − 1; their mean divides by d.": (
            _over(lambda x, eps: ((x**2).sum(-1, keepdim=True) / (x.size(-1) - 1) + eps) ** 0.5)
        ),
        "the gain is squared; multiply by it once.": lambda x, g, eps: _rms_norm(x, g * g, eps),
        "1 is added to the gain; multiply by the gain itself.": (
            lambda x, g, eps: _rms_norm(x, 1 + g, eps)
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
        "the mean goes over axis 1; the last one is asked for, −1.": (
            _over(lambda x, eps: ((x**2).mean(1, keepdim=True) + eps) ** 0.5)
        ),
        "eps is a least value of the root; add it to the mean square.": (
            _over(lambda x, eps: (_mean(x**2) ** 0.5).clamp(min=eps))
        ),
        "eps is a least value of the mean square; add it.": (
            _over(lambda x, eps: _mean(x**2).clamp(min=eps) ** 0.5)
        ),
        "eps is added to the sum of the squares, before it is divided by d; add it to the mean.": (
            _over(lambda x, eps: (((x**2).sum(-1, keepdim=True) + eps) / x.size(-1)) ** 0.5)
        ),
        "eps is added to the length, before it is divided by √d; add it to the mean square.": (
            _over(lambda x, eps: (x.norm(dim=-1, keepdim=True) + eps) / x.size(-1) ** 0.5)
        ),
        "this divides by the length plus eps; take the mean of the squares, eps in the root.": (
            _over(lambda x, eps: x.norm(dim=-1, keepdim=True) + eps)
        ),
        "the root of eps stands beside the root of the mean square; one root takes both.": (
            _over(lambda x, eps: _mean(x**2) ** 0.5 + eps**0.5)
        ),
        "you divide by the mean square, without eps and without a root.": (
            _over(lambda x, eps: _mean(x**2))
        ),
        "you divide by the standard deviation and eps; take the mean of the squares, with eps.": (
            _over(lambda x, eps: _mean(_centred(x) ** 2) ** 0.5 + eps)
        ),
        "you divide by the unbiased standard deviation and eps; take the mean of the squares.": (
            _over(lambda x, eps: x.std(-1, keepdim=True) + eps)
        ),
        "this is LayerNorm with the unbiased deviation, and eps beside the root.": (
            _over(lambda x, eps: x.std(-1, keepdim=True) + eps, above=_centred)
        ),
        "this is LayerNorm, with eps beside the root.": (
            _over(lambda x, eps: _mean(_centred(x) ** 2) ** 0.5 + eps, above=_centred)
        ),
        "this is LayerNorm with the unbiased variance.": (
            _over(lambda x, eps: (x.var(-1, keepdim=True) + eps) ** 0.5, above=_centred)
        ),
        "this is LayerNorm, and eps is missing.": (
            _over(lambda x, eps: _mean(_centred(x) ** 2) ** 0.5, above=_centred)
        ),
        "the mean is subtracted, but the squares are those of x: RMSNorm leaves x alone.": (
            _over(lambda x, eps: (_mean(x**2) + eps) ** 0.5, above=_centred)
        ),
        "these are divided by the mean of the absolute values, without eps; take squares.": (
            _over(lambda x, eps: _mean(x.abs()))
        ),
        "this is the root; x is divided by it.": (lambda x, gain, eps: (_mean(x**2) + eps) ** 0.5),
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

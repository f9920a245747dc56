"""Layers: the feed-forward network and layer normalisation."""

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import (
    normal,
    random_cases,
)


def _feed_forward(
    x: Float[Tensor, "*batch d_model"],
    W_1: Float[Tensor, "d_model d_ff"],
    b_1: Float[Tensor, " d_ff"],
    W_2: Float[Tensor, "d_ff d_model"],
    b_2: Float[Tensor, " d_model"],
) -> Float[Tensor, "*batch d_model"]:
    return (x @ W_1 + b_1).relu() @ W_2 + b_2


feed_forward = Exercise(
    reference=_feed_forward,
    mistakes={
        "the ReLU is missing: the two matrices could then be one.": (
            lambda x, W, b, V, c: (x @ W + b) @ V + c
        ),
        "the ReLU comes last; it stands between the two matrices.": (
            lambda x, W, b, V, c: ((x @ W + b) @ V + c).relu()
        ),
        "a second ReLU at the end: the output may be negative.": (
            lambda x, W, b, V, c: ((x @ W + b).relu() @ V + c).relu()
        ),
        "the first bias is missing.": lambda x, W, b, V, c: (x @ W).relu() @ V + c,
        "the second bias is missing.": lambda x, W, b, V, c: (x @ W + b).relu() @ V,
        "both biases are missing.": lambda x, W, b, V, c: (x @ W).relu() @ V,
        "you add the first bias after the ReLU; it belongs inside.": (
            lambda x, W, b, V, c: ((x @ W).relu() + b) @ V + c
        ),
        "this is the inner layer, d_ff numbers wide; the second matrix leads back to d_model.": (
            lambda x, W, b, V, c: (x @ W + b).relu()
        ),
        "this is a softmax; a ReLU is asked for.": (
            lambda x, W, b, V, c: (x @ W + b).softmax(-1) @ V + c
        ),
        "this is a GELU; a ReLU is asked for.": (
            lambda x, W, b, V, c: torch.nn.functional.gelu(x @ W + b) @ V + c
        ),
        "you take absolute values; a ReLU replaces what is negative by 0.": (
            lambda x, W, b, V, c: (x @ W + b).abs() @ V + c
        ),
        "you add x: that is the shortcut, which stands around the network.": (
            lambda x, W, b, V, c: x + (x @ W + b).relu() @ V + c
        ),
    },
    cases=random_cases("... d_model", "d_model d_ff", "d_ff", "d_ff d_model", "d_model"),
)


def _layer_norm(
    x: Float[Tensor, "*batch d"], gain: Float[Tensor, " d"], bias: Float[Tensor, " d"], eps: float
) -> Float[Tensor, "*batch d"]:
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = (centred**2).mean(dim=-1, keepdim=True)
    return gain * centred / (variance + eps) ** 0.5 + bias


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


def _variance(x: Tensor, correction: int = 0) -> Tensor:
    return x.var(-1, keepdim=True, correction=correction)


def _over_all(x: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    return gain * (x - x.mean()) / (x.var(correction=0) + eps) ** 0.5 + bias


layer_norm = Exercise(
    reference=_layer_norm,
    mistakes={
        "you divide the squares by d − 1, as torch.var does by itself; LayerNorm divides by d.": (
            lambda x, g, b, eps: g * _centred(x) / (_variance(x, 1) + eps) ** 0.5 + b
        ),
        "eps is outside the root: it is added to the variance, not to its root.": (
            lambda x, g, b, eps: g * _centred(x) / (_variance(x) ** 0.5 + eps) + b
        ),
        "two mistakes: you divide the squares by d − 1, and eps is outside the root.": (
            lambda x, g, b, eps: g * _centred(x) / (_variance(x, 1) ** 0.5 + eps) + b
        ),
        "the mean is not subtracted.": (
            lambda x, g, b, eps: g * x / (_variance(x) + eps) ** 0.5 + b
        ),
        "you divide by the root of the mean square; subtract the mean first (this is RMSNorm).": (
            lambda x, g, b, eps: g * x / ((x**2).mean(-1, keepdim=True) + eps) ** 0.5 + b
        ),
        "you divide by the variance; take its root.": (
            lambda x, g, b, eps: g * _centred(x) / (_variance(x) + eps) + b
        ),
        "you only subtract the mean: divide by the standard deviation, too.": (
            lambda x, g, b, eps: g * _centred(x) + b
        ),
        "eps is missing.": lambda x, g, b, eps: g * _centred(x) / _variance(x) ** 0.5 + b,
        "the gain and the bias are missing.": (
            lambda x, g, b, eps: _centred(x) / (_variance(x) + eps) ** 0.5
        ),
        "the gain is missing.": lambda x, g, b, eps: _centred(x) / (_variance(x) + eps) ** 0.5 + b,
        "the bias is missing.": lambda x, g, b, eps: g * _centred(x) / (_variance(x) + eps) ** 0.5,
        "you add the bias before you multiply: the gain then scales it, too.": (
            lambda x, g, b, eps: g * (_centred(x) / (_variance(x) + eps) ** 0.5 + b)
        ),
        "the mean goes over everything; each position is normalised by itself.": _over_all,
        "the mean goes over the first axis; each position is normalised over its own numbers.": (
            lambda x, g, b, eps: g * (x - x.mean(0)) / (x.var(0, correction=0) + eps) ** 0.5 + b
        ),
    },
    cases=[
        (normal(4, seed=0), normal(4, seed=1), normal(4, seed=2), 0.1),
        *(
            (
                normal(*shape, seed=number, dtype=dtype),
                normal(shape[-1], seed=number + 1, dtype=dtype),
                normal(shape[-1], seed=number + 2, dtype=dtype),
                eps,
            )
            for number, shape, dtype, eps in (
                (3, (2, 3), torch.float32, 0.5),
                (6, (3, 2, 5), torch.float64, 0.01),
            )
        ),
    ],
)

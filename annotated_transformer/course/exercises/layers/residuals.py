"""Layers: shortcuts, and where the normalisation stands."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _normalise(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _post_norm_stack(
    x: Float[Tensor, "*batch d"], W: Float[Tensor, "layers d d"]
) -> Float[Tensor, "*batch d"]:
    for matrix in W:
        x = _normalise(x + torch.relu(x @ matrix))
    return x


def _stack(
    layer: Callable[[Tensor, Tensor], Tensor], last: Callable[[Tensor], Tensor] = torch.clone
) -> Callable[..., Tensor]:
    """A stack of such layers, and what comes after it."""

    def run(x: Tensor, W: Tensor) -> Tensor:
        for matrix in W:
            x = layer(x, matrix)
        return last(x)

    return run


post_norm_stack = Exercise(
    reference=_post_norm_stack,
    mistakes={
        "this is pre-norm: post-norm normalises after the sum.": (
            _stack(lambda x, W: x + torch.relu(_normalise(x) @ W))
        ),
        "this is pre-norm with its last normalisation; post-norm normalises after each sum.": (
            _stack(lambda x, W: x + torch.relu(_normalise(x) @ W), _normalise)
        ),
        "you normalise once, at the end; each layer does it.": (
            _stack(lambda x, W: x + torch.relu(x @ W), _normalise)
        ),
        "the shortcut is missing.": _stack(lambda x, W: _normalise(torch.relu(x @ W))),
        "the normalisation is missing.": _stack(lambda x, W: x + torch.relu(x @ W)),
        "you normalise the sub-layer alone; the sum is normalised.": (
            _stack(lambda x, W: x + _normalise(torch.relu(x @ W)))
        ),
        "the ReLU is missing.": _stack(lambda x, W: _normalise(x + x @ W)),
        "the ReLU bends the sum; it bends the sub-layer alone.": (
            _stack(lambda x, W: _normalise(torch.relu(x + x @ W)))
        ),
        "you use the first matrix in every layer; each has its own.": (
            lambda x, W: _post_norm_stack(x, W[:1].expand_as(W))
        ),
        "you return after the first layer; run all of them.": (
            lambda x, W: _post_norm_stack(x, W[:1])
        ),
        "every shortcut starts from the input of the stack; it starts from its own layer's.": (
            lambda x, W: _stack(lambda y, M: _normalise(x + torch.relu(y @ M)))(x, W)
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


def _pre_norm_stack(
    x: Float[Tensor, "*batch d"], W: Float[Tensor, "layers d d"]
) -> Float[Tensor, "*batch d"]:
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
        "the sub-layer must read the normalised x, and the shortcut x itself; you swapped them.": (
            _stack(lambda x, W: _normalise(x) + torch.relu(x @ W), _normalise)
        ),
        "the shortcut and what the sub-layer reads are swapped, and the end is not normalised.": (
            _stack(lambda x, W: _normalise(x) + torch.relu(x @ W))
        ),
        "you normalise every sum, too; only what the sub-layer reads, and the end.": (
            _stack(lambda x, W: _normalise(x + torch.relu(_normalise(x) @ W)))
        ),
        "you normalise x once, before the first layer; every sub-layer reads a normalised x.": (
            lambda x, W: _stack(lambda y, M: y + torch.relu(y @ M), _normalise)(_normalise(x), W)
        ),
        "you normalise x once, before the first layer, and never again.": (
            lambda x, W: _stack(lambda y, M: y + torch.relu(y @ M))(_normalise(x), W)
        ),
        "this is post-norm: pre-norm normalises what the sub-layer reads.": (
            _stack(lambda x, W: _normalise(x + torch.relu(x @ W)))
        ),
        "the sub-layer reads x as it is; it must read the normalised x.": (
            _stack(lambda x, W: x + torch.relu(x @ W), _normalise)
        ),
        "the shortcut is missing now.": (
            _stack(lambda x, W: torch.relu(_normalise(x) @ W), _normalise)
        ),
        "you normalise what the sub-layer gives; normalise what it reads.": (
            _stack(lambda x, W: x + _normalise(torch.relu(x @ W)), _normalise)
        ),
        "every shortcut starts from the input of the stack; it starts from its own layer's.": (
            lambda x, W: _stack(lambda y, M: x + torch.relu(_normalise(y) @ M), _normalise)(x, W)
        ),
    },
    cases=post_norm_stack.cases,
)

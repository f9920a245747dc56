"""Layers: shortcuts, and where the normalisation stands."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


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


def _over_all(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape)


def _over_first(x: Tensor) -> Tensor:
    return (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5) ** 0.5


_sum = _stack(lambda x, W: x + torch.relu(_normalise(x) @ W))


def _with_input(x: Tensor, W: Tensor) -> Tensor:
    return _normalise(x + _sum(x, W))


pre_norm_stack = Exercise(
    reference=_pre_norm_stack,
    given={
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
        "what the sub-layer gives is normalised, too; normalise what it reads, and the end.": (
            _stack(lambda x, W: x + _normalise(torch.relu(_normalise(x) @ W)), _normalise)
        ),
        "what the sub-layer gives is normalised, too, and the end is not.": (
            _stack(lambda x, W: x + _normalise(torch.relu(_normalise(x) @ W)))
        ),
        "the product is normalised before the ReLU; normalise what the sub-layer reads.": (
            _stack(lambda x, W: x + torch.relu(_normalise(x @ W)), _normalise)
        ),
        "the ReLU bends the whole sum; it belongs to the sub-layer, before the shortcut.": (
            _stack(lambda x, W: torch.relu(x + _normalise(x) @ W), _normalise)
        ),
        "the ReLU bends the whole sum, and the end is not normalised.": (
            _stack(lambda x, W: torch.relu(x + _normalise(x) @ W))
        ),
        "the ReLU is missing.": _stack(lambda x, W: x + _normalise(x) @ W, _normalise),
        "the ReLU bends x, before the matrix; it comes after it.": (
            _stack(lambda x, W: x + torch.relu(_normalise(x)) @ W, _normalise)
        ),
        "the matrices are transposed.": (
            _stack(lambda x, W: x + torch.relu(_normalise(x) @ W.T), _normalise)
        ),
        "one mistake is left: the shortcut is missing, and the end is not normalised.": (
            _stack(lambda x, W: torch.relu(_normalise(x) @ W))
        ),
        "the shortcut carries x twice.": (
            _stack(lambda x, W: 2 * x + torch.relu(_normalise(x) @ W), _normalise)
        ),
        "the last layer is missing.": (
            lambda x, W: _stack(lambda y, M: y + torch.relu(_normalise(y) @ M), _normalise)(
                x, W[:-1]
            )
        ),
        "the layers come in reverse order: W[0] is the first.": (
            lambda x, W: _stack(lambda y, M: y + torch.relu(_normalise(y) @ M), _normalise)(
                x, W.flip(0)
            )
        ),
        "every layer takes W[0]; each has a matrix of its own.": (
            lambda x, W: _stack(lambda y, M: y + torch.relu(_normalise(y) @ W[0]), _normalise)(x, W)
        ),
        "every shortcut starts from the input of the stack; it starts from its own layer's.": (
            lambda x, W: _stack(lambda y, M: x + torch.relu(_normalise(y) @ M), _normalise)(x, W)
        ),
        "this is the first layer, normalised; the stack returns after the last one.": (
            lambda x, W: _pre_norm_stack(x, W[:1])
        ),
        "this is the first layer, and not normalised; the stack returns after the last one.": (
            lambda x, W: x + torch.relu(_normalise(x) @ W[0])
        ),
        "this normalises all numbers together; each vector is normalised by itself.": (
            _stack(lambda x, W: x + torch.relu(_over_all(x) @ W), _over_all)
        ),
        "this normalises along the first axis; each vector is normalised by itself.": (
            _stack(lambda x, W: x + torch.relu(_over_first(x) @ W), _over_first)
        ),
        "the shortcut carries x and the normalised x; it carries x alone.": (
            _stack(lambda x, W: x + _normalise(x) + torch.relu(_normalise(x) @ W), _normalise)
        ),
        "the input of the stack is normalised, too, and the shortcuts carry that.": (
            lambda x, W: _pre_norm_stack(_normalise(x), W)
        ),
        "the input of the stack is normalised, too, and the end is not.": (
            lambda x, W: _stack(lambda y, M: y + torch.relu(_normalise(y) @ M))(_normalise(x), W)
        ),
        "the first layer is missing.": lambda x, W: _pre_norm_stack(x, W[1:]),
        "the input of the stack is added at the end; the shortcuts carry it already.": (
            _with_input
        ),
        "the end is bent by the ReLU; it is normalised only.": (
            lambda x, W: torch.relu(_pre_norm_stack(x, W))
        ),
        "this is the last sub-layer's output, without the sum.": (
            lambda x, W: torch.relu(_normalise(_sum(x, W[:-1])) @ W[-1])
        ),
        "one layer too many: the last matrix is used twice.": (
            lambda x, W: _pre_norm_stack(x, torch.cat([W, W[-1:]]))
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

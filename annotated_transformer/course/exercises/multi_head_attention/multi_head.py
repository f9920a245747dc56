"""Multi-head attention: its equation, its matrix W^O, its size."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _multi_head(
    X: Float[Tensor, "time d_model"],
    W_Q: Float[Tensor, "heads d_model d_k"],
    W_K: Float[Tensor, "heads d_model d_k"],
    W_V: Float[Tensor, "heads d_model d_v"],
    W_O: Float[Tensor, "width d_model"],
) -> Float[Tensor, "time d_model"]:
    heads = []
    for to_query, to_key, to_value in zip(W_Q, W_K, W_V, strict=True):
        scores = X @ to_query @ (X @ to_key).T / math.sqrt(to_key.size(1))
        heads.append(scores.softmax(dim=1) @ (X @ to_value))
    return torch.cat(heads, dim=1) @ W_O


def _wrong(
    width: Callable[[Tensor, Tensor, Tensor], int] = lambda X, K, V: K.size(2),
    dim: int = 2,
    late: bool = False,
    project: bool = True,
    join: Callable[[Tensor], Tensor] = lambda heads: heads.transpose(0, 1).flatten(1),
) -> Callable[..., Tensor]:
    """The same with another divisor, axis of the softmax, or way to join the heads."""

    def attend(X: Tensor, Q: Tensor, K: Tensor, V: Tensor, W_O: Tensor) -> Tensor:
        scores, root = X @ Q @ (X @ K).mT, math.sqrt(width(X, K, V))
        weights = scores.softmax(dim) / root if late else (scores / root).softmax(dim)
        joined = join(weights @ (X @ V))
        return joined @ W_O if project else joined

    return attend


def _widen(x: Tensor, times: int) -> Tensor:
    """So many times as wide; the new numbers are 0."""
    return functional.pad(x, (0, (times - 1) * x.size(1)))


def _parts(time: int, heads: int, d_model: int, d_k: int, d_v: int) -> tuple[Tensor, ...]:
    widths = [(heads, d_model, d) for d in (d_k, d_k, d_v)]
    shapes = [(time, d_model), *widths, (heads * d_v, d_model)]
    dtype = torch.float32 if heads == 3 else torch.float64
    return tuple(normal(*shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes))


multi_head = Exercise(
    reference=_multi_head,
    mistakes={
        "you divide by √d_model; the queries and keys of a head have d_k numbers.": (
            _wrong(lambda X, K, V: X.size(1))
        ),
        "you divide by the root of h · d_k; the sum in a score of one head has d_k terms.": (
            _wrong(lambda X, K, V: len(K) * K.size(2))
        ),
        "you divide by √d_v; the sum in a score has d_k terms.": (
            _wrong(lambda X, K, V: V.size(2))
        ),
        "the factor is missing: divide the scores by √d_k.": _wrong(lambda X, K, V: 1),
        "you scale after the softmax; then the weights sum to 1/√d_k.": _wrong(late=True),
        "the softmax goes over the queries; each query shares out 1 among the keys.": _wrong(dim=1),
        "the softmax goes over the heads; each head shares out a 1 of its own.": _wrong(dim=0),
        "W_O is missing: these are the heads side by side.": _wrong(project=False),
        "the shape is right, but a row mixes positions: it needs the heads of one position.": (
            _wrong(join=lambda heads: heads.reshape(heads.size(1), -1))
        ),
        "you take turns between the heads; the numbers of a head stay side by side.": (
            _wrong(join=lambda heads: heads.permute(1, 2, 0).flatten(1))
        ),
        "you put the first head h times; every head has matrices of its own.": (
            _wrong(join=lambda heads: heads[0].repeat(1, len(heads)))
        ),
        "you use the first block of W_O for all heads; head i has block i.": (
            _wrong(join=lambda heads: _widen(heads.sum(0), len(heads)))
        ),
        "the heads stand in reverse order.": (
            _wrong(join=lambda heads: heads.flip(0).transpose(0, 1).flatten(1))
        ),
    },
    cases=[_parts(7, 2, 5, 4, 3), _parts(2, 3, 6, 5, 4), _parts(3, 4, 5, 2, 6)],
)


def _head_contributions(
    heads: Float[Tensor, "heads time d_v"], W_O: Float[Tensor, "width d_model"]
) -> Float[Tensor, "heads time d_model"]:
    num_heads, _, d_v = heads.shape
    return heads @ W_O.view(num_heads, d_v, -1)


def _blocks(heads: Tensor, W_O: Tensor) -> Tensor:
    return W_O.view(len(heads), heads.size(2), -1)


head_contributions = Exercise(
    reference=_head_contributions,
    mistakes={
        "you use the first block of W_O for all heads; head i has block i.": (
            lambda heads, W: heads @ W[: heads.size(2)]
        ),
        "the rows of W_O are dealt out in turns; the rows of a head stand together.": (
            lambda heads, W: heads @ W.view(heads.size(2), len(heads), -1).transpose(0, 1)
        ),
        "the blocks are in reverse order.": lambda heads, W: heads @ _blocks(heads, W).flip(0),
        "all heads get the mean of the blocks; head i has block i.": (
            lambda heads, W: heads @ _blocks(heads, W).mean(0)
        ),
        "this is the whole output, the sum; each head's part is asked for.": (
            lambda heads, W: heads.transpose(0, 1).flatten(1) @ W
        ),
        "you give every head the whole output; only its own part is asked for.": (
            lambda heads, W: (heads @ _blocks(heads, W)).sum(0).expand(len(heads), -1, -1)
        ),
        "you divide by the number of heads; the parts are added, not averaged.": (
            lambda heads, W: heads @ _blocks(heads, W) / len(heads)
        ),
        "the positions stand before the heads: (heads, time, d_model) is asked for.": (
            lambda heads, W: (heads @ _blocks(heads, W)).transpose(0, 1)
        ),
    },
    cases=[
        (normal(2, 3, 4, seed=0), normal(8, 5, seed=1)),
        (normal(3, 5, 2, seed=2, dtype=torch.float32), normal(6, 4, seed=3, dtype=torch.float32)),
        (normal(4, 6, 3, seed=4), normal(12, 5, seed=5)),
    ],
)


def _head_parameters(d_model: int, num_heads: int, d_k: int, d_v: int) -> int:
    into = num_heads * (d_k + d_k + d_v)
    matrices = into * d_model + num_heads * d_v * d_model
    return matrices + into + d_model


head_parameters = Exercise(
    reference=_head_parameters,
    mistakes={
        "the biases are missing: every product of our layer has one.": (
            lambda d, h, k, v: 2 * h * d * (k + v)
        ),
        "W^O is missing.": lambda d, h, k, v: h * (2 * k + v) * (d + 1),
        "the bias of W^O is missing.": lambda d, h, k, v: 2 * h * d * (k + v) + h * (2 * k + v),
        "the bias of W^O has d_model numbers, as many as the output.": (
            lambda d, h, k, v: 2 * h * d * (k + v) + 2 * h * (k + v)
        ),
        "these are the numbers of one head; all heads have their own.": (
            lambda d, h, k, v: 2 * d * (k + v) + 2 * k + v + d
        ),
        "every head has its own W^Q, W^K and W^V; you count those of one head only.": (
            lambda d, h, k, v: (2 * k + v) * (d + 1) + h * v * d + d
        ),
        "every head has its own biases; you count those of one head only.": (
            lambda d, h, k, v: 2 * h * d * (k + v) + 2 * k + v + d
        ),
        "you count a W^O for every head; there is one for all.": (
            lambda d, h, k, v: h * (2 * k + v) * (d + 1) + h * (h * v * d + d)
        ),
        "W^O has h · d_v rows, not d_v: it reads all heads.": (
            lambda d, h, k, v: h * (2 * k + v) * (d + 1) + v * d + d
        ),
        "you give the values the width of the keys: they have d_v numbers.": (
            lambda d, h, k, v: 4 * h * d * k + 3 * h * k + d
        ),
        "4 · d_model · (d_model + 1) is right only where h · d_k = h · d_v = d_model.": (
            lambda d, h, k, v: 4 * d * (d + 1)
        ),
        "queries and keys have a matrix each.": (
            lambda d, h, k, v: h * (k + v) * (d + 1) + h * v * d + d
        ),
    },
    cases=[(6, 2, 3, 3), (5, 3, 4, 2), (8, 1, 8, 8), (4, 4, 2, 5)],
)

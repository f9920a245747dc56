"""Multi-head attention: what a head adds to the output, and how large a layer is."""

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Derivation, Exercise
from annotated_transformer.course.exercises.cases import normal


def _head_contributions(
    heads: Float[Tensor, "heads time d_v"], W_O: Float[Tensor, "width d_model"]
) -> Float[Tensor, "heads time d_model"]:
    """Find what each head adds to the output of the layer."""
    num_heads, _, d_v = heads.shape
    return heads @ W_O.view(num_heads, d_v, -1)


def _blocks(heads: Tensor, W_O: Tensor) -> Tensor:
    return W_O.view(len(heads), heads.size(2), -1)


head_contributions = Exercise(
    reference=_head_contributions,
    mistakes={
        "all heads use the first block of W_O; head i has block i.": (
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
        "every head has the whole output; only its own part is asked for.": (
            lambda heads, W: (heads @ _blocks(heads, W)).sum(0).expand(len(heads), -1, -1)
        ),
        "this is divided by the number of heads; the parts are added, not averaged.": (
            lambda heads, W: heads @ _blocks(heads, W) / len(heads)
        ),
        "the positions stand before the heads: (heads, time, d_model) is asked for.": (
            lambda heads, W: (heads @ _blocks(heads, W)).transpose(0, 1)
        ),
        "each head is multiplied by the other heads' blocks; head i has block i alone.": (
            lambda heads, W: heads @ (_blocks(heads, W).sum(0) - _blocks(heads, W))
        ),
        "this is the part of the first head only.": (
            lambda heads, W: heads[0] @ W[: heads.size(2)]
        ),
        "these are columns of W_O; the block of a head is made of rows.": (
            lambda heads, W: heads @ W.T.reshape(len(heads), heads.size(2), -1)
        ),
    },
    cases=[
        (normal(2, 3, 4, seed=0), normal(8, 5, seed=1)),
        (normal(3, 5, 2, seed=2, dtype=torch.float32), normal(6, 4, seed=3, dtype=torch.float32)),
        (normal(4, 6, 3, seed=4), normal(12, 5, seed=5)),
    ],
)


def _head_sizes(
    d_model: int, num_heads: int, num_groups: int, d: int
) -> tuple[int, int, int, int, int]:
    """Count the parameters of a layer with groups, and what it keeps of a word."""
    query = (d_model + 1) * num_heads * d
    key_value = 2 * (d_model + 1) * num_groups * d
    output = (num_heads * d + 1) * d_model
    return query, key_value, output, query + key_value + output, 2 * num_groups * d


head_sizes = Derivation(
    reference=_head_sizes,
    mistakes={
        "the biases are missing: every product has one.": lambda m, h, g, d: (
            m * h * d,
            2 * m * g * d,
            h * d * m,
            2 * m * h * d + 2 * m * g * d,
            2 * g * d,
        ),
        "keys and values have as many heads as queries here; there are fewer groups.": (
            lambda m, h, g, d: _head_sizes(m, h, h, d)
        ),
    },
    cases=[(9, 3, 1, 3), (8, 4, 2, 5), (15, 6, 3, 4)],
)

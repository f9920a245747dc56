"""Multi-head attention: what a head adds to the output."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


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
    given={
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
        "all heads use the last block of W_O; head i has block i.": (
            lambda heads, W: heads @ W[-heads.size(2) :]
        ),
        "head i has the block of the next head.": (
            lambda heads, W: heads @ _blocks(heads, W).roll(-1, 0)
        ),
        "head i has the block of the head before it.": (
            lambda heads, W: heads @ _blocks(heads, W).roll(1, 0)
        ),
        "head i has the parts of the heads before it, too; only its own is asked for.": (
            lambda heads, W: (heads @ _blocks(heads, W)).cumsum(0)
        ),
        "this is the mean of the parts; each head's part is asked for.": (
            lambda heads, W: (heads @ _blocks(heads, W)).mean(0)
        ),
        "every head has an equal share of the whole output; its own part is asked for.": (
            lambda heads, W: (heads @ _blocks(heads, W)).mean(0).expand(len(heads), -1, -1)
        ),
        "this is what the other heads add; each head's own part is asked for.": (
            lambda heads, W: (heads @ _blocks(heads, W)).sum(0) - heads @ _blocks(heads, W)
        ),
        "the numbers of a block are cut as (d_model, d_v) and turned; its rows have d_model.": (
            lambda heads, W: heads @ W.view(len(heads), -1, heads.size(2)).mT
        ),
        "all heads use the sum of the blocks; head i has block i.": (
            lambda heads, W: heads @ _blocks(heads, W).sum(0)
        ),
        "heads and positions are mixed, and all heads have the whole output.": (
            lambda heads, W: (heads.reshape(heads.size(1), -1) @ W).expand(len(heads), -1, -1)
        ),
        "heads and positions are mixed, and this is the whole output: each part is asked for.": (
            lambda heads, W: heads.reshape(heads.size(1), -1) @ W
        ),
        "the parts are one after the other along the positions; they need an axis for the heads.": (
            lambda heads, W: (heads @ _blocks(heads, W)).flatten(0, 1)
        ),
        "the axis of the heads is the last; (heads, time, d_model) is asked for.": (
            lambda heads, W: (heads @ _blocks(heads, W)).permute(1, 2, 0)
        ),
        "the parts are added over the positions; each position has its own.": (
            lambda heads, W: (heads @ _blocks(heads, W)).sum(1)
        ),
        "the parts stand side by side; they need an axis for the heads.": (
            lambda heads, W: (heads @ _blocks(heads, W)).transpose(0, 1).flatten(1)
        ),
        "the parts are divided by √d_v; nothing is scaled here.": (
            lambda heads, W: heads @ _blocks(heads, W) / heads.size(2) ** 0.5
        ),
    },
    cases=[
        (normal(2, 3, 4, seed=0), normal(8, 5, seed=1)),
        (normal(3, 5, 2, seed=2, dtype=torch.float32), normal(6, 4, seed=3, dtype=torch.float32)),
        (normal(4, 6, 3, seed=4), normal(12, 5, seed=5)),
    ],
)

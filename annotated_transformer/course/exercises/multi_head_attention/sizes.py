"""Multi-head attention: what a head adds to the output, and how large a layer is."""

from collections.abc import Callable

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


def _head_sizes(
    d_model: int, num_heads: int, num_groups: int, d: int
) -> tuple[int, int, int, int, int]:
    """Count the parameters of a layer with groups, and what it keeps of a word."""
    query = (d_model + 1) * num_heads * d
    key_value = 2 * (d_model + 1) * num_groups * d
    output = (num_heads * d + 1) * d_model
    return query, key_value, output, query + key_value + output, 2 * num_groups * d


def _sizes(
    query: Callable[..., int] = lambda m, h, g, d: (m + 1) * h * d,
    pair: Callable[..., int] = lambda m, h, g, d: 2 * (m + 1) * g * d,
    output: Callable[..., int] = lambda m, h, g, d: (h * d + 1) * m,
    total: Callable[..., int] = lambda q, kv, out: q + kv + out,
    kept: Callable[..., int] = lambda m, h, g, d: 2 * g * d,
) -> Callable[..., tuple[int, ...]]:
    """The counts with another step; the sum in step 4 follows."""

    def counts(*sizes: int) -> tuple[int, ...]:
        parts = query(*sizes), pair(*sizes), output(*sizes)
        return *parts, total(*parts), kept(*sizes)

    return counts


head_sizes = Derivation(
    reference=_head_sizes,
    mistakes={
        "step 1 lacks its bias: one number for each of num_heads · d results.": (
            _sizes(query=lambda m, h, g, d: m * h * d)
        ),
        "step 1 is for heads that share d_model; here each has d numbers of its own.": (
            _sizes(query=lambda m, h, g, d: (m + 1) * m)
        ),
        "the bias of step 1 has d_model numbers; it has one for each result, num_heads · d.": (
            _sizes(query=lambda m, h, g, d: m * h * d + m)
        ),
        "step 1 is one head's matrix; there are num_heads.": (
            _sizes(query=lambda m, h, g, d: (m + 1) * d)
        ),
        "step 2 lacks its biases.": _sizes(pair=lambda m, h, g, d: 2 * m * g * d),
        "step 2 has one bias for both; keys and values have one each.": (
            _sizes(pair=lambda m, h, g, d: 2 * m * g * d + g * d)
        ),
        "step 2 counts as many key heads as query heads; there are fewer groups.": (
            _sizes(pair=lambda m, h, g, d: 2 * (m + 1) * h * d)
        ),
        "step 2 is for one group; there are num_groups.": (
            _sizes(pair=lambda m, h, g, d: 2 * (m + 1) * d)
        ),
        "step 3 lacks its bias: d_model numbers.": _sizes(output=lambda m, h, g, d: h * d * m),
        "the bias of step 3 has num_heads · d numbers; it has one for each result, d_model.": (
            _sizes(output=lambda m, h, g, d: (m + 1) * h * d)
        ),
        "step 3 takes d_model numbers in; the heads side by side have num_heads · d.": (
            _sizes(output=lambda m, h, g, d: (m + 1) * m)
        ),
        "step 3 reads the groups; the heads side by side have num_heads · d numbers.": (
            _sizes(output=lambda m, h, g, d: (g * d + 1) * m)
        ),
        "step 4 lacks the last matrix.": _sizes(total=lambda q, kv, out: q + kv),
        "step 4 counts keys and values twice; step 2 has both.": (
            _sizes(total=lambda q, kv, out: q + 2 * kv + out)
        ),
        "step 5 keeps every query head; keys and values are kept for the groups alone.": (
            _sizes(kept=lambda m, h, g, d: 2 * h * d)
        ),
        "step 5 keeps one group; there are num_groups.": _sizes(kept=lambda m, h, g, d: 2 * d),
        "step 5 keeps 2 · d_model numbers, as without groups.": (
            _sizes(kept=lambda m, h, g, d: 2 * m)
        ),
    },
    cases=[(9, 3, 1, 3), (8, 4, 2, 5), (15, 6, 3, 4)],
)

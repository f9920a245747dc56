"""Packed batches of a corpus: its pairs in random order fill rows, epoch after epoch."""

from collections.abc import Iterator, Sequence
from itertools import count, islice

import numpy as np
import torch

from annotated_transformer.fast.packing import PackedBatch, pack
from annotated_transformer.fast.rows import rows_of
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_sizes, require_whole
from annotated_transformer.text.examples import Example, Examples


def packed_batches(
    examples: Sequence[Example],
    rows: int,
    length: int,
    seed: int,
    skip: int = 0,
    device: torch.device | None = None,
) -> Iterator[PackedBatch]:
    """Iterate over packed batches, epoch after epoch, in an order that depends only on the seed.

    ``skip`` leaves out that many at the beginning. Examples are in random order, not by length.

    Raises:
        InputError: if there are no examples, one is longer than a row, or a number is out of its
            range.
    """
    require_sizes(rows=rows, length=length)
    for name, value in (("seed", seed), ("skip", skip)):
        require_whole(name, value, 0)
    examples = Examples.of(examples)
    lengths = examples.lengths + 1
    longest = int(lengths.max(initial=0))
    if not 0 < longest <= length:
        raise InputError(
            f"there are {len(examples)} examples of up to {longest} tokens with a special one, "
            f"it must be at least 1 example, and none longer than a row of {length}."
        )
    orders = (np.random.default_rng((seed, epoch)).permutation(len(examples)) for epoch in count())
    filled = (
        order[pairs].tolist() for order in orders for pairs in rows_of(lengths[order], length)
    )
    groups = (list(islice(filled, rows)) for _ in count())
    for group in islice(groups, skip, None):
        yield pack(examples, group, length, device)

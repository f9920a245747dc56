"""Which sentence pairs share a row of a packed batch: rows are filled, epoch after epoch."""

from collections.abc import Iterator, Sequence
from itertools import count, islice

import numpy as np
import torch
from jaxtyping import Int

from annotated_transformer.errors import InputError
from annotated_transformer.examples import Example, Examples
from annotated_transformer.fast.packing import PackedBatch, pack
from annotated_transformer.inputs import require_sizes, require_whole

OPEN_ROWS = 16
"""Rows that are filled at the same time: more leave less padding, and take longer."""


def rows_of(lengths: Int[np.ndarray, "pairs 2"], room: int) -> Iterator[list[int]]:
    """Distribute pairs, given by the lengths of their sides, on rows that have so much room.

    A pair goes into the first open row in which both sides have room. If there is none, the fullest
    row is complete, and a new one is opened.

    >>> [*rows_of(np.array([[3, 2], [4, 4], [2, 3], [1, 1]]), room=5)]
    [[0, 2], [1, 3]]
    """
    rows: list[tuple[list[int], list[int]]] = []  # the free room of both sides, and the pairs
    for pair, (src, tgt) in enumerate(lengths.tolist()):
        row = next((row for row in rows if src <= row[0][0] and tgt <= row[0][1]), None)
        if row is None:
            if len(rows) == OPEN_ROWS:
                yield rows.pop(min(range(OPEN_ROWS), key=lambda i: min(rows[i][0])))[1]
            row = [room, room], []
            rows.append(row)
        free, pairs = row
        free[0] -= src
        free[1] -= tgt
        pairs.append(pair)
    yield from (pairs for _, pairs in rows)


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
    filled = (order[pairs] for order in orders for pairs in rows_of(lengths[order], length))
    groups = (list(islice(filled, rows)) for _ in count())
    for group in islice(groups, skip, None):
        yield pack([[examples[i] for i in pairs] for pairs in group], length, device)

"""Packed batches: several sentence pairs in a row of fixed length, so that all have one shape.

On an accelerator a program that was compiled for this shape serves every batch, and no time goes
into padding. Source and target of a pair are in the same row, of two tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.devices import CPU
from annotated_transformer.errors import InputError
from annotated_transformer.examples import Example
from annotated_transformer.fast.rows import places
from annotated_transformer.inputs import each_pair, require_sizes, unpadded
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import TransformerConfig


@dataclass(frozen=True)
class PackedBatch:
    """Sentence pairs for teacher forcing, several in a row; the CPU knows how many tokens."""

    table: Int[Tensor, "6 rows length"]  # token, pair (0: none) and position, of src and of tgt_in
    real: Int[Tensor, " tokens"]  # where in ``tgt_in``, read as one row, there are tokens
    tgt_out: Int[Tensor, " tokens"]  # the token after each of them
    num_tokens: int
    largest: tuple[int, int]  # the largest id of src and of tgt

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Return the six tensors (rows, length) that :func:`packed_hidden` reads."""
        return self.table.unbind()

    def require_fit(self, config: TransformerConfig) -> None:
        """Refuse a model with a smaller vocabulary, or fewer positions than a row has places.

        Raises:
            InputError: if it is such a model.
        """
        has = *self.largest, self.table.size(-1)
        limits = config.src_vocab - 1, config.tgt_vocab - 1, config.max_length
        if any(number > limit for number, limit in zip(has, limits, strict=True)):
            raise InputError(
                "the largest ids of source and target, and the length of a row, are "
                f"{[*has]}: for this model they must be at most {[*limits]}."
            )


def pack(
    rows: Sequence[Sequence[Example]], length: int, device: torch.device | None = None
) -> PackedBatch:
    """Make a batch of rows of that length, each given by its pairs; a row may be empty.

    >>> batch = pack([[([7, 8], [9]), ([7], [5, 6])]], 6)
    >>> batch.table[:3, 0].tolist()
    [[7, 8, 2, 7, 2, 0], [1, 1, 1, 2, 2, 0], [0, 1, 2, 0, 1, 0]]
    >>> batch.table[3, 0].tolist(), batch.tgt_out.tolist()
    ([1, 9, 1, 5, 6, 0], [9, 2, 5, 6, 2])

    Raises:
        InputError: if a row has more tokens than that, or there are no pairs, or one is not a pair
            of sentences of ids without padding.
    """
    require_sizes(length=length)
    pairs_in = np.array([len(row) for row in rows], int)
    pairs = unpadded(each_pair(chain.from_iterable(rows)), PAD)
    if not pairs:
        raise InputError("there are 0 pairs, a batch needs at least 1.")
    table = np.zeros((2, 3, len(rows) * length), np.int64)
    sides = [[*src, EOS] for src, _ in pairs], [[BOS, *tgt] for _, tgt in pairs]
    for part, sentences in zip(table, sides, strict=True):
        at, *numbers = places(np.array([*map(len, sentences)]), pairs_in, length)
        part[:, at] = [*chain.from_iterable(sentences)], *numbers
    tgt_out = [token for _, tgt in pairs for token in (*tgt, EOS)]
    arrays = table.reshape(6, len(rows), length), at, np.array(tgt_out)
    tensors = [torch.from_numpy(array) for array in arrays]
    if device is not None and device.type != CPU:  # the CPU need not wait for the copies
        tensors = [tensor.pin_memory().to(device, non_blocking=True) for tensor in tensors]
    largest = int(table[0, 0].max()), int(table[1, 0].max())
    return PackedBatch(tensors[0], tensors[1], tensors[2], len(tgt_out), largest)

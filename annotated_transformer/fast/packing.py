"""Packed batches: several sentence pairs in a row of fixed length, so that all have one shape.

On an accelerator a program that was compiled for this shape serves every batch, and no time goes
into padding. Source and target of a pair are in the same row, of two tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.fast.rows import places
from annotated_transformer.ground.devices import CPU
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_sizes
from annotated_transformer.text.examples import Example, Examples
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
    pairs: Sequence[Example],
    rows: Sequence[Sequence[int]],
    length: int,
    device: torch.device | None = None,
) -> PackedBatch:
    """Make a batch of rows of that length, given by the indices of their pairs.

    >>> batch = pack([([7, 8], [9]), ([7], [5, 6])], [[0, 1]], 6)
    >>> batch.table[:3, 0].tolist()
    [[7, 8, 2, 7, 2, 0], [1, 1, 1, 2, 2, 0], [0, 1, 2, 0, 1, 0]]
    >>> batch.table[3, 0].tolist(), batch.tgt_out.tolist()
    ([1, 9, 1, 5, 6, 0], [9, 2, 5, 6, 2])

    Raises:
        InputError: if a row has more tokens than that, or all are empty, or the pairs are not pairs
            of sentences of ids without padding.
    """
    require_sizes(length=length)
    examples, pairs_in = Examples.of(pairs), np.array([*map(len, rows)], int)
    if len(examples.sides) != 2 or not pairs_in.any():
        raise InputError(
            f"there are {pairs_in.sum()} examples of {len(examples.sides)} sides, there must be at "
            "least 1, a source and a target."
        )
    chosen = examples.rows[np.concatenate([np.array(row, int) for row in rows])]
    table, largest = np.zeros((2, 3, len(rows) * length), np.int64), []
    for part, side, special in zip(table, examples.sides, (EOS, BOS), strict=True):
        begin, sizes = side.starts[chosen], side.starts[chosen + 1] - side.starts[chosen] + 1
        at, number, position = places(sizes, pairs_in, length)
        is_id = position < (sizes - 1).repeat(sizes)
        ids = side.ids[(begin.repeat(sizes) + position)[is_id]]
        if (ids == PAD).any():
            raise InputError(f"a sentence contains {PAD}, the padding, which no loss would count.")
        tokens, after = np.full(len(at), special), np.full(len(at), EOS)
        after[is_id] = ids
        tokens[is_id if special == EOS else position > 0] = ids
        part[:, at] = tokens, number, position
        largest.append(int(tokens.max()))
    arrays = table.reshape(6, len(rows), length), at, after
    tensors = [torch.from_numpy(array) for array in arrays]
    if device is not None and device.type != CPU:  # the CPU need not wait for the copies
        tensors = [tensor.pin_memory().to(device, non_blocking=True) for tensor in tensors]
    return PackedBatch(tensors[0], tensors[1], tensors[2], len(at), (largest[0], largest[1]))

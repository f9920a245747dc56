"""Batches: many sentences in one padded tensor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.errors import InputError
from annotated_transformer.examples import Example, Examples
from annotated_transformer.inputs import (
    each_example,
    each_pair,
    require_sentences,
    require_whole,
    unpadded,
)
from my_transformer.tokens import BOS, EOS, PAD

# To refuse is to raise an InputError.
# each_example(examples): Iterate over examples: pairs of source and target, or single sentences,
# all of one kind.
# each_pair(pairs): Iterate over pairs; a text of two characters is refused.
# require_sentences(sentences): Refuse anything but a list of sentences of ids; PyTorch and NumPy
# would round 5.7 down to 5.
# require_whole(name, value, least, most=None): Refuse anything but an integer within these
# bounds.
# unpadded(examples, padding): Return the examples if they are sentences without the id of
# padding: no loss counts it.


def pad(
    sequences: Sequence[Sequence[int]], device: torch.device | None = None
) -> Int[Tensor, "batch length"]:
    """Pad every sequence with ``PAD`` to the length of the longest.

    >>> pad([[5, 6, 7], [8]])
    tensor([[5, 6, 7],
            [8, 0, 0]])

    Raises:
        InputError: if there is no sequence, or one contains anything but ids.
    """
    raise NotImplementedError("pad: chapter 1")


@dataclass(frozen=True)
class Batch:
    """Sentence pairs, prepared for teacher forcing.

    The decoder reads ``tgt_in`` (``BOS`` y₁ … yₘ) and must predict ``tgt_out`` (y₁ … yₘ ``EOS``):
    the same sentence, shifted by one position. ``src`` also ends in ``EOS``.
    """

    src: Int[Tensor, "batch src"]
    tgt_in: Int[Tensor, "batch tgt"]
    tgt_out: Int[Tensor, "batch tgt"]

    @classmethod
    def of(cls, examples: Sequence[Example], device: torch.device | None = None) -> "Batch":
        """Make a batch on the given device, or on the default device.

        >>> batch = Batch.of([([7, 8], [9]), ([7], [5, 6])])
        >>> batch.src
        tensor([[7, 8, 2],
                [7, 2, 0]])
        >>> batch.tgt_in
        tensor([[1, 9, 0],
                [1, 5, 6]])
        >>> batch.tgt_out
        tensor([[9, 2, 0],
                [5, 6, 2]])

        Raises:
            InputError: if there are no examples, or one is not a pair of sentences of ids, or
                contains the id of padding, which no loss would count.
        """
        raise NotImplementedError("Batch.of: chapter 1")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Return the tensors that a model reads: (batch, src) and (batch, tgt)."""
        return self.src, self.tgt_in

    @property
    def num_tokens(self) -> int:
        """Count the target tokens that are predicted: with ``EOS``, without padding."""
        raise NotImplementedError("Batch.num_tokens: chapter 1")


@dataclass(frozen=True)
class TextBatch:
    """Sentences without a source, prepared for teacher forcing."""

    tgt_in: Int[Tensor, "batch tgt"]
    tgt_out: Int[Tensor, "batch tgt"]

    @classmethod
    def of(cls, examples: Sequence[Example], device: torch.device | None = None) -> "TextBatch":
        """Make a batch, as :meth:`Batch.of` does.

        >>> TextBatch.of([([5, 6],), ([7],)]).tgt_in
        tensor([[1, 5, 6],
                [1, 7, 0]])

        Raises:
            InputError: if there are no examples, or one is not a sentence of ids without padding.
        """
        raise NotImplementedError("TextBatch.of: chapter 1")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Return the tensor that a model reads: (batch, tgt)."""
        return (self.tgt_in,)

    @property
    def num_tokens(self) -> int:
        """Count the tokens that are predicted: with ``EOS``, without padding."""
        raise NotImplementedError("TextBatch.num_tokens: chapter 1")


AnyBatch = Batch | TextBatch


def batch_of(examples: Sequence[Example], device: torch.device | None = None) -> AnyBatch:
    """Make a :class:`Batch` of sentence pairs, or a :class:`TextBatch` of single sentences.

    Raises:
        InputError: if there are no examples, or they are neither.
    """
    examples = [*each_example(examples)]
    alone = {*map(len, examples)} == {1}
    return (TextBatch if alone else Batch).of(examples, device)


def batches_by_tokens(
    examples: Sequence[Example], max_tokens: int, seed: int | None = None
) -> list[Int[np.ndarray, " group"]]:
    """Group examples of similar length into batches of at most ``max_tokens`` positions.

    Positions are counted as the model sees them, with padding and special tokens, on the
    longer side. Grouping by length keeps the padding small; counting tokens instead of sentences
    makes every batch about equally expensive. The examples are sorted by the target's length,
    then by the source's. With a ``seed``, examples of equal lengths are shuffled, and then the
    groups; without a seed, the shortest come first.

    Returns:
        The indices of the examples of every group.

    Raises:
        InputError: if one sentence alone is longer than ``max_tokens``, or ``max_tokens`` or the
            seed is not an integer in its range.
    """
    raise NotImplementedError("batches_by_tokens: chapter 1")

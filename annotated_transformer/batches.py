"""Batches: many sentences in one padded tensor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import (
    each_example,
    each_pair,
    require_sentences,
    require_whole,
    unpadded,
)
from annotated_transformer.text.examples import Example, Examples
from annotated_transformer.tokens import BOS, EOS, PAD


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
    require_sentences(sequences)
    length = max(len(sequence) for sequence in sequences)
    rows = [[*sequence, *[PAD] * (length - len(sequence))] for sequence in sequences]
    return torch.tensor(rows, dtype=torch.long, device=device)


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
        examples = unpadded(each_pair(examples), PAD)
        return cls(
            src=pad([[*src, EOS] for src, _ in examples], device),
            tgt_in=pad([[BOS, *tgt] for _, tgt in examples], device),
            tgt_out=pad([[*tgt, EOS] for _, tgt in examples], device),
        )

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Return the tensors that a model reads: (batch, src) and (batch, tgt)."""
        return self.src, self.tgt_in

    @property
    def num_tokens(self) -> int:
        """Count the target tokens that are predicted: with ``EOS``, without padding."""
        return int((self.tgt_out != PAD).sum())


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
        examples = unpadded(examples, PAD)
        if any(len(example) != 1 for example in examples):
            raise InputError("an example is a pair, it must be a single sentence: use Batch.")
        return cls(
            tgt_in=pad([[BOS, *text] for (text,) in examples], device),
            tgt_out=pad([[*text, EOS] for (text,) in examples], device),
        )

    def without_ends(self) -> "TextBatch":
        """Leave out the special tokens, for a model whose texts have none, as a loaded one.

        It reads all tokens of a text but the last, and must predict all but the first.

        Raises:
            InputError: if no text has two tokens.

        >>> TextBatch.of([([5, 6, 7],), ([8, 9],)]).without_ends()
        TextBatch(tgt_in=tensor([[5, 6], [8, 9]]), tgt_out=tensor([[6, 7], [9, 0]]))
        """
        if self.tgt_in.size(1) < 3:
            raise InputError("no text has two tokens, one needs them: the first predicts the next.")
        return TextBatch(self.tgt_in[:, 1:-1], self.tgt_in[:, 2:])

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Return the tensor that a model reads: (batch, tgt)."""
        return (self.tgt_in,)

    @property
    def num_tokens(self) -> int:
        """Count the tokens that are predicted: with ``EOS``, without padding."""
        return int(self.tgt_out.ne(PAD).sum())


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
    require_whole("max_tokens", max_tokens, 1)
    examples = Examples.of(examples)
    order = list(range(len(examples)))
    if seed is not None:
        require_whole("seed", seed, 0)
        random = Random(int(seed))
        random.shuffle(order)
    lengths = examples.lengths[order]
    by_length = np.lexsort(lengths.T)  # stable: equal lengths stay in their shuffled order
    groups = list(_cut(np.array(order, int)[by_length], lengths.max(axis=1)[by_length], max_tokens))
    if seed is not None:
        random.shuffle(groups)
    return groups


def _cut(
    order: Int[np.ndarray, " examples"], lengths: Int[np.ndarray, " examples"], max_tokens: int
) -> Iterator[Int[np.ndarray, " group"]]:
    start = width = 0
    for end, length in enumerate((lengths + 1).tolist()):
        if length > max_tokens:
            raise InputError(
                f"a sentence has {length} tokens with its end symbol, "
                f"max_tokens={max_tokens} must be at least {length}."
            )
        if (end - start + 1) * max(width, length) > max_tokens:
            yield order[start:end]
            start, width = end, 0
        width = max(width, length)
    if len(order):
        yield order[start:]

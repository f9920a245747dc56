"""Batches: many sentences in one rectangular tensor, with masks for what is only padding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.errors import InputError
from annotated_transformer.tokens import BOS, EOS, PAD

Example = tuple[list[int], list[int]]
"""The ids of a source sentence and of its translation, without ``BOS`` and ``EOS``."""


def pad(sequences: Sequence[Sequence[int]]) -> Int[Tensor, "batch length"]:
    """Fill every sequence with ``PAD`` up to the length of the longest.

    >>> pad([[5, 6, 7], [8]])
    tensor([[5, 6, 7],
            [8, 0, 0]])

    Raises:
        InputError: if there is no sequence.
    """
    if not sequences:
        raise InputError("there are 0 sequences, a batch needs at least 1.")
    length = max(len(sequence) for sequence in sequences)
    return torch.tensor([[*s, *[PAD] * (length - len(s))] for s in sequences], dtype=torch.long)


def padding_mask(tokens: Int[Tensor, "batch key"]) -> Bool[Tensor, "batch 1 1 key"]:
    """``True`` where there is a token, ``False`` where there is only padding.

    The two axes of size 1 stand for heads and queries: every query of every head sees the same
    keys. ``padding_mask(tokens)[:, 0]`` is the mask for attention without heads.

    >>> padding_mask(torch.tensor([[5, 6, 7], [8, 0, 0]]))[:, 0, 0]
    tensor([[ True,  True,  True],
            [ True, False, False]])
    """
    return (tokens != PAD)[:, None, None, :]


@dataclass(frozen=True)
class Batch:
    """Sentence pairs, ready for teacher forcing.

    The decoder reads ``tgt_in`` (``BOS`` y₁ … yₘ) and is asked for ``tgt_out`` (y₁ … yₘ ``EOS``):
    the same sentence, one position apart. ``src`` ends in ``EOS`` too.
    """

    src: Int[Tensor, "batch src"]
    tgt_in: Int[Tensor, "batch tgt"]
    tgt_out: Int[Tensor, "batch tgt"]

    @classmethod
    def of(cls, examples: Sequence[Example]) -> "Batch":
        """Make a batch.

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
        """
        return cls(
            src=pad([[*src, EOS] for src, _ in examples]),
            tgt_in=pad([[BOS, *tgt] for _, tgt in examples]),
            tgt_out=pad([[*tgt, EOS] for _, tgt in examples]),
        )

    @property
    def num_tokens(self) -> int:
        """How many target tokens are predicted, ``EOS`` counted, padding not."""
        return int((self.tgt_out != PAD).sum())


def batches_by_tokens(
    examples: Sequence[Example], max_tokens: int, seed: int | None = None
) -> list[list[Example]]:
    """Cut the examples into groups of similar length, each of at most ``max_tokens`` positions.

    Positions are counted as the model sees them, padding and special tokens included, on the
    longer side. Grouping by length keeps the padding small; counting tokens rather than sentences
    makes every batch about equally expensive. With a ``seed``, sentences of equal length and
    then the groups are shuffled; without, they come shortest first.

    Raises:
        InputError: if one sentence alone is longer than ``max_tokens``.
    """
    order = list(examples)
    random = Random(seed)
    if seed is not None:
        random.shuffle(order)
    order.sort(key=lambda example: (len(example[1]), len(example[0])))
    groups = list(_cut(order, max_tokens))
    if seed is not None:
        random.shuffle(groups)
    return groups


def _cut(ordered: Sequence[Example], max_tokens: int) -> Iterator[list[Example]]:
    group: list[Example] = []
    width = 0
    for example in ordered:
        length = max(len(example[0]), len(example[1])) + 1
        if length > max_tokens:
            raise InputError(
                f"a sentence has {length} tokens with its end symbol, "
                f"max_tokens={max_tokens} must be at least that."
            )
        if (len(group) + 1) * max(width, length) > max_tokens:
            yield group
            group, width = [], 0
        group.append(example)
        width = max(width, length)
    if group:
        yield group

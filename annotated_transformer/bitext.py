"""Bitext: sentence pairs as ids, laid end to end in flat arrays, in memory or on disk."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import SupportsIndex, overload

import numpy as np
from jaxtyping import Int

from annotated_transformer.errors import InputError
from annotated_transformer.inputs import LARGEST_ID, each_pair, require_sentences

Example = tuple[list[int], list[int]]
"""The ids of a source sentence and of its translation, without ``BOS`` and ``EOS``."""

IDS = np.dtype("<i4")
STARTS = np.dtype("<i8")
SIDES = ("src", "tgt")
FILES = tuple(f"{side}.{kind}" for side in SIDES for kind in ("ids", "starts"))
"""What :func:`write_bitext` writes."""


@dataclass(frozen=True, eq=False)
class Side:
    """The sentences of one language: sentence i is ``ids[starts[i] : starts[i + 1]]``."""

    ids: Int[np.ndarray, " tokens"]
    starts: Int[np.ndarray, " sentences_and_one"]  # one more than there are sentences

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> "Side":
        """Lay sentences end to end.

        Raises:
            InputError: if one holds anything but ids.
        """
        kept = list(sentences)
        try:
            given = [*chain.from_iterable(kept)]
            ids, kinds = np.array(given), {*map(type, given)}
        except (TypeError, ValueError):  # such as an id that is a list
            ids, kinds = np.array(["no ids"]), {str}
        whole = ids.dtype.kind == "i" and ids.ndim == 1 and bool not in kinds
        if len(ids) and not (whole and 0 <= ids.min() <= ids.max() <= LARGEST_ID):
            require_sentences(kept)
        starts = np.cumsum([0, *map(len, kept)], dtype=STARTS)
        return cls(ids.astype(IDS), starts)

    @property
    def fits(self) -> bool:
        """Whether the sentences begin with the ids and end with them, one after the other."""
        in_order = not self.starts[0] and bool((np.diff(self.starts) >= 0).all())
        return in_order and int(self.starts[-1]) == len(self.ids)

    def __getitem__(self, i: SupportsIndex) -> list[int]:
        start, end = self.starts[int(i) : int(i) + 2]
        return self.ids[start:end].tolist()


@dataclass(frozen=True, eq=False)
class Bitext(Sequence[Example]):
    """Sentence pairs, a sequence of examples that takes four bytes a token.

    >>> bitext = Bitext.of([([7, 8], [9]), ([7], [5, 6])])
    >>> bitext[1], bitext.lengths.tolist()
    (([7], [5, 6]), [[2, 1], [1, 2]])
    """

    src: Side
    tgt: Side
    rows: Int[np.ndarray, " pairs"]
    """Which sentences of both sides belong to it, in order."""

    @classmethod
    def of(cls, examples: Sequence[Example]) -> "Bitext":
        """The examples in flat arrays; a bitext is one already.

        Raises:
            InputError: if one is no pair, or holds anything but ids.
        """
        if isinstance(examples, Bitext):
            return examples
        pairs = [*each_pair(examples)]
        src, tgt = (Side.of(pair[side] for pair in pairs) for side in (0, 1))
        return cls(src, tgt, np.arange(len(pairs)))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, i: SupportsIndex) -> Example: ...
    @overload
    def __getitem__(self, i: slice) -> "Bitext": ...
    def __getitem__(self, i: SupportsIndex | slice) -> "Example | Bitext":
        """One example, or those of a slice."""
        if isinstance(i, slice):
            return replace(self, rows=self.rows[i])
        row = self.rows[i]
        return self.src[row], self.tgt[row]

    @property
    def lengths(self) -> Int[np.ndarray, "pairs 2"]:
        """(pairs, 2): how many tokens each source and each target has."""
        return np.stack([np.diff(side.starts)[self.rows] for side in (self.src, self.tgt)], axis=1)

    def within(self, longest: int) -> "Bitext":
        """The pairs of which neither side has more than ``longest`` tokens."""
        return replace(self, rows=self.rows[self.lengths.max(axis=1, initial=0) <= longest])


def write_bitext(folder: Path, chunks: Iterable[Sequence[Example]]) -> None:
    """Write sentence pairs that need not fit into memory together into a folder."""
    totals = dict.fromkeys(SIDES, 0)
    with ExitStack() as stack:
        ids, starts = (
            {name: stack.enter_context((folder / f"{name}.{kind}").open("wb")) for name in SIDES}
            for kind in ("ids", "starts")
        )
        for name in SIDES:
            starts[name].write(np.zeros(1, STARTS).tobytes())
        for chunk in chunks:
            for name, sentences in zip(SIDES, zip(*chunk, strict=True), strict=True):
                side = Side.of(sentences)
                ids[name].write(side.ids.tobytes())
                starts[name].write((side.starts[1:] + totals[name]).tobytes())
                totals[name] += len(side.ids)


def read_bitext(folder: Path) -> Bitext:
    """Map what :func:`write_bitext` wrote into memory: only what is asked for is read.

    Raises:
        InputError: if the files are missing, or do not fit together.
    """
    try:
        src, tgt = (
            Side(
                np.memmap(folder / f"{name}.ids", IDS, "r"),
                np.memmap(folder / f"{name}.starts", STARTS, "r"),
            )
            for name in SIDES
        )
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} holds no sentence pairs ({error}): delete it.") from error
    if len(src.starts) != len(tgt.starts) or not (src.fits and tgt.fits):
        raise InputError(f"the files in {folder} do not fit together: delete it.")
    return Bitext(src, tgt, np.arange(len(src.starts) - 1))

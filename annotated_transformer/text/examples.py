"""Examples: sentences as ids, concatenated in flat arrays, in memory or on disk."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import SupportsIndex, overload

import numpy as np
from jaxtyping import Int

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import (
    LARGEST_ID,
    StrPath,
    each_example,
    require_path,
    require_sentences,
)

Example = tuple[list[int], ...]
"""The ids of a source sentence and of its translation; or, without a source, of one sentence.

``BOS`` and ``EOS`` are not included.
"""

IDS = np.dtype("<i4")
STARTS = np.dtype("<i8")
SIDES = ("src", "tgt")


def files_of(sides: Sequence[str]) -> tuple[str, ...]:
    """Name the files that :func:`write_examples` writes for these sides."""
    return tuple(f"{side}.{kind}" for side in sides for kind in ("ids", "starts"))


@dataclass(frozen=True, eq=False)
class Side:
    """The sentences of one side: sentence i is ``ids[starts[i] : starts[i + 1]]``."""

    ids: Int[np.ndarray, " tokens"]
    starts: Int[np.ndarray, " sentences_and_one"]  # one more than there are sentences

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> "Side":
        """Concatenate sentences.

        Raises:
            InputError: if one contains anything but ids.
        """
        kept = list(sentences)
        try:
            given = [*chain.from_iterable(kept)]
            ids, kinds = np.array(given), {*map(type, given)}
        except (TypeError, ValueError):  # for example an id that is a list
            ids, kinds = np.array(["no ids"]), {str}
        whole = ids.dtype.kind == "i" and ids.ndim == 1 and bool not in kinds
        if len(ids) and not (whole and 0 <= ids.min() <= ids.max() <= LARGEST_ID):
            require_sentences(kept)
        starts = np.cumsum([0, *map(len, kept)], dtype=STARTS)
        return cls(ids.astype(IDS), starts)

    @property
    def fits(self) -> bool:
        """Tell whether ``starts`` begins with 0, never decreases, and ends with len(ids)."""
        in_order = not self.starts[0] and bool((np.diff(self.starts) >= 0).all())
        return in_order and int(self.starts[-1]) == len(self.ids)

    def __getitem__(self, i: SupportsIndex) -> list[int]:
        start, end = self.starts[int(i) : int(i) + 2]
        return self.ids[start:end].tolist()


@dataclass(frozen=True, eq=False)
class Examples(Sequence[Example]):
    """Sentence pairs, or sentences without a source, stored in four bytes a token.

    >>> pairs = Examples.of([([7, 8], [9]), ([7], [5, 6])])
    >>> pairs[1], pairs.lengths.tolist()
    (([7], [5, 6]), [[2, 1], [1, 2]])
    >>> Examples.of([([7, 8],), ([5],)]).lengths.tolist()
    [[2], [1]]
    """

    sides: tuple[Side, ...]  # of source and target, or of the sentences alone
    rows: Int[np.ndarray, " examples"]
    """The indices of its sentences on each side, in order."""

    @classmethod
    def of(cls, examples: Sequence[Example]) -> "Examples":
        """Store examples in flat arrays, unless they already are.

        Raises:
            InputError: if the numbers of sides differ, or one contains anything but ids.
        """
        if isinstance(examples, Examples):
            return examples
        kept = [*each_example(examples)]
        number = len(kept[0]) if kept else len(SIDES)
        sides = (Side.of(example[side] for example in kept) for side in range(number))
        return cls(tuple(sides), np.arange(len(kept)))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, i: SupportsIndex) -> Example: ...
    @overload
    def __getitem__(self, i: slice) -> "Examples": ...
    def __getitem__(self, i: SupportsIndex | slice) -> "Example | Examples":
        """Return one example, or those of a slice."""
        if isinstance(i, slice):
            return replace(self, rows=self.rows[i])
        row = self.rows[i]
        return tuple(side[row] for side in self.sides)

    @property
    def lengths(self) -> Int[np.ndarray, "examples sides"]:
        """Return the number of tokens of each side of each example."""
        return np.stack([np.diff(side.starts)[self.rows] for side in self.sides], axis=1)

    def within(self, longest: int) -> "Examples":
        """Return the examples of which no side has more than ``longest`` tokens."""
        return replace(self, rows=self.rows[self.lengths.max(axis=1, initial=0) <= longest])


def write_examples(
    folder: StrPath, chunks: Iterable[Sequence[Example]], sides: Sequence[str] = SIDES
) -> None:
    """Write examples into a folder, side by side; together they need not fit into memory."""
    folder, totals = require_path("folder", folder), dict.fromkeys(sides, 0)
    with ExitStack() as stack:
        ids, starts = (
            {name: stack.enter_context((folder / f"{name}.{kind}").open("wb")) for name in sides}
            for kind in ("ids", "starts")
        )
        for name in sides:
            starts[name].write(np.zeros(1, STARTS).tobytes())
        for chunk in chunks:
            for name, sentences in zip(sides, zip(*chunk, strict=True), strict=True):
                side = Side.of(sentences)
                ids[name].write(side.ids.tobytes())
                starts[name].write((side.starts[1:] + totals[name]).tobytes())
                totals[name] += len(side.ids)


def read_examples(folder: StrPath, sides: Sequence[str] = SIDES) -> Examples:
    """Map what :func:`write_examples` wrote into memory: only what is accessed is read.

    Raises:
        InputError: if the files are missing, or do not fit together.
    """
    folder = require_path("folder", folder)
    try:
        read = tuple(
            Side(
                np.memmap(folder / f"{name}.ids", IDS, "r"),
                np.memmap(folder / f"{name}.starts", STARTS, "r"),
            )
            for name in sides
        )
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder} holds no sentences ({error}): delete it, and it is made again."
        ) from error
    if len({len(side.starts) for side in read}) > 1 or not all(side.fits for side in read):
        raise InputError(f"the files in {folder} do not fit together: delete them to rebuild it.")
    return Examples(read, np.arange(len(read[0].starts) - 1))

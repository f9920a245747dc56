"""Rows of a packed batch: which pairs share one, and where in it their tokens stand."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from annotated_transformer.ground.errors import InputError

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


def places(
    sizes: Int[np.ndarray, " pairs"], pairs_in: Int[np.ndarray, " rows"], length: int
) -> Int[np.ndarray, "3 tokens"]:
    """Return, for each token, its index in the table, the number of its pair, and its position.

    Raises:
        InputError: if the sentences of a row have more tokens than there is room for.
    """
    row = np.arange(len(pairs_in)).repeat(pairs_in)
    number = np.arange(len(sizes)) - (pairs_in.cumsum() - pairs_in)[row] + 1
    begin = sizes.cumsum() - sizes
    used = np.bincount(row, sizes, len(pairs_in)).astype(int)
    if used.max() > length:
        raise InputError(
            f"the pairs of row {used.argmax() + 1} have {used.max()} tokens on a side, with the "
            f"special ones, they must be at most {length}: give it fewer pairs, or make it longer."
        )
    first = row * length + begin - (used.cumsum() - used)[row]
    position = np.arange(sizes.sum()) - begin.repeat(sizes)
    return np.stack([first.repeat(sizes) + position, number.repeat(sizes), position])

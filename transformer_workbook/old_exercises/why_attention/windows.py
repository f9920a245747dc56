"""Why attention: how far a layer sees that looks around each word only."""

from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor

from transformer_workbook.judge.exercises import Exercise


def _window(length: int, width: int) -> Bool[Tensor, "query key"]:
    """Write the mask of restricted self-attention."""
    place = torch.arange(length)
    return (place[:, None] - place).abs() <= width // 2


def _within(first: Callable[[int], int], last: Callable[[int], int]) -> Callable[..., Tensor]:
    """A mask of the keys from so many places after the query to so many."""

    def mask(length: int, width: int) -> Tensor:
        distance = torch.arange(length) - torch.arange(length)[:, None]
        return (first(width) <= distance) & (distance <= last(width))

    return mask


def _cut_by_slices(length: int, width: int) -> Tensor:
    """Each row is opened by a slice, whose start may be negative."""
    mask, half = torch.zeros(length, length).bool(), width // 2
    for i in range(length):
        mask[i, i - half : i + half + 1] = True
    return mask


window = Exercise(
    reference=_window,
    given={
        "the window reaches r positions to each side; together they should be r.": (
            _within(lambda r: -r, lambda r: r)
        ),
        "the window is r − 2 wide: its two ends are missing.": (
            _within(lambda r: 1 - r // 2, lambda r: r // 2 - 1)
        ),
        "the window is r + 2 wide: one position too many on each side.": (
            _within(lambda r: -1 - r // 2, lambda r: r // 2 + 1)
        ),
        "the window is r − 1 wide: the first position is missing.": (
            _within(lambda r: 1 - r // 2, lambda r: r // 2)
        ),
        "the window is r − 1 wide: the last position is missing.": (
            _within(lambda r: -(r // 2), lambda r: r // 2 - 1)
        ),
        "the mask is inverted: True means may attend.": lambda n, r: ~_window(n, r),
        "this hides only what is too far to the right; the left has an end, too.": (
            _within(lambda r: -99, lambda r: r // 2)
        ),
        "this hides only what is too far to the left; the right has an end, too.": (
            _within(lambda r: -(r // 2), lambda r: 99)
        ),
        "the window lies to the left of its query; it is centred.": (
            _within(lambda r: 1 - r, lambda r: 0)
        ),
        "this is the left half of the window; it reaches to both sides.": (
            _within(lambda r: -(r // 2), lambda r: 0)
        ),
        "the window lies to the right of its query; it is centred.": (
            _within(lambda r: 0, lambda r: r - 1)
        ),
        "these are blocks of r; each position has a window of its own.": (
            lambda n, r: torch.arange(n)[:, None] // r == torch.arange(n) // r
        ),
        "the window is the same for every query; it must move with it.": (
            lambda n, r: (torch.arange(n) < r).expand(n, n)
        ),
        "the window goes on at the other end of the sentence; it ends where the sentence does.": (
            lambda n, r: _window(3 * n, r)[n : 2 * n].reshape(n, 3, n).any(1)
        ),
        "at the ends the window is moved inwards; it stays centred, and is cut off.": (
            lambda n, r: _window(n, r)[torch.arange(n).clamp(r // 2, n - 1 - r // 2)]
        ),
        "the window reaches r − 1 positions to each side; together with the query it has r.": (
            _within(lambda r: 1 - r, lambda r: r - 1)
        ),
        "the window is r + 1 wide: one position too many on the left.": (
            _within(lambda r: -1 - r // 2, lambda r: r // 2)
        ),
        "the window is r + 1 wide: one position too many on the right.": (
            _within(lambda r: -(r // 2), lambda r: r // 2 + 1)
        ),
        "this is the right half of the window; it reaches to both sides.": (
            _within(lambda r: 0, lambda r: r // 2)
        ),
        "only the two ends of the window are open; all that lies between is, too.": (
            lambda n, r: _window(n, r) & ~_within(lambda r: 1 - r // 2, lambda r: r // 2 - 1)(n, r)
        ),
        "the window is 3 wide, whatever r is.": lambda n, r: _window(n, 3),
        "where the window begins before the sentence, the row is empty or begins too late: "
        "a negative start counts from the end.": _cut_by_slices,
        "the query itself is not in its window.": lambda n, r: _window(n, r) & ~_window(n, 1),
        "each query sees itself only, whatever r is.": lambda n, r: _window(n, 1),
        "everything is open: what is further than r // 2 is to be hidden.": (
            lambda n, r: torch.ones(n, n).bool()
        ),
        "the window is half as wide as r: r // 2 positions belong to each side.": (
            _within(lambda r: -(r // 4), lambda r: r // 4)
        ),
        "this hides what is too far to the right, or r // 2 away; the left has an end, too.": (
            _within(lambda r: -99, lambda r: r // 2 - 1)
        ),
        "this hides what is too far to the left, or r // 2 away; the right has an end, too.": (
            _within(lambda r: 1 - r // 2, lambda r: 99)
        ),
        "this is the right half of the window, without the query itself.": (
            _within(lambda r: 1, lambda r: r // 2)
        ),
        "this is the left half of the window, without the query itself.": (
            _within(lambda r: -(r // 2), lambda r: -1)
        ),
        "True stands for what is r // 2 away or further; it means may attend.": (
            lambda n, r: ~_within(lambda r: 1 - r // 2, lambda r: r // 2 - 1)(n, r)
        ),
    },
    cases=[(6, 3), (9, 5), (5, 1), (12, 7)],
)

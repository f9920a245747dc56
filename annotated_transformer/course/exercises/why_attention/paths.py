"""Why attention: how far a layer sees, and how many layers a path takes."""

from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor

from annotated_transformer.course.checking import Exercise


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


window = Exercise(
    reference=_window,
    mistakes={
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
    },
    cases=[(6, 3), (9, 5), (5, 1), (12, 7)],
)


def _path_length(reads: Bool[Tensor, "n n"]) -> int:
    """Find what is wrong in counting the layers until every output depends on every input."""
    powers = [torch.linalg.matrix_power(reads.double(), layers) for layers in range(len(reads))]
    return sum(not power.all() for power in powers)


def _wrong(
    done: Callable[[Tensor], Tensor] = torch.all,
    start: Callable[[Tensor], Tensor] = lambda reads: torch.eye(len(reads)).long(),
    step: Callable[[Tensor, Tensor], Tensor] = lambda reached, reads: reached @ reads,
    first: int = 1,
) -> Callable[[Tensor], int | None]:
    """The same with another end, beginning, step or count."""

    def length(reads: Tensor) -> int | None:
        reads = reads.long()
        reached = start(reads)
        for layers in range(first, 2 * len(reads)):
            reached = step(reached, reads).clamp(max=1)
            if done(reached):
                return layers
        return None

    return length


def _doubled(count: Callable[[int], int]) -> Callable[[Tensor], int]:
    """The table is multiplied by itself; so many layers are counted after so many times."""

    def length(reads: Tensor) -> int:
        powers = (torch.linalg.matrix_power(reads.double(), 2**times) for times in range(9))
        return count(next(times for times, power in enumerate(powers) if power.all()))

    return length


def _tables() -> list[tuple[Tensor]]:
    """Windows, a ring, and windows in which the first or the last reads all, or is read by all."""
    ends = [_window(length, 3) for length in (7, 6, 10, 9)]
    ends[0][0], ends[1][:, 0], ends[2][-1], ends[3][:, -1] = True, True, True, True
    far, ring = _window(9, 3), torch.eye(6).bool() | torch.eye(6).bool().roll(1, 0)
    far[0, 8] = True
    return [(t,) for t in (_window(8, 3), _window(5, 9), _window(11, 5), ring, far, *ends)]


path_length = Exercise(
    reference=_path_length,
    mistakes={
        "the table is multiplied by itself: that doubles the layers, and one is counted.": (
            _doubled(lambda times: times + 1)
        ),
        "this is a power of two; by doubling you jump over the layers between.": (
            _doubled(lambda times: 2**times)
        ),
        "this is one too few; the table itself is one layer already.": (
            _wrong(start=lambda reads: reads)
        ),
        "this is one too few; the first layer is layer 1.": lambda reads: _path_length(reads) - 1,
        "this is one too many; one layer is the table itself.": (
            lambda reads: _path_length(reads) + 1
        ),
        "this is when the last output depends on the first input; ask for all pairs.": (
            _wrong(lambda reached: reached[-1, 0])
        ),
        "this is when the first output depends on the last input; ask for all pairs.": (
            _wrong(lambda reached: reached[0, -1])
        ),
        "this is when the first output depends on all inputs; ask for all outputs.": (
            _wrong(lambda reached: reached[0].all())
        ),
        "this is when the last output depends on all inputs; ask for all outputs.": (
            _wrong(lambda reached: reached[-1].all())
        ),
        "this is when all outputs depend on the first input; ask for all inputs.": (
            _wrong(lambda reached: reached[:, 0].all())
        ),
        "this is when all outputs depend on the last input; ask for all inputs.": (
            _wrong(lambda reached: reached[:, -1].all())
        ),
        "this is when one output depends on all inputs; ask for all outputs.": (
            _wrong(lambda reached: reached.all(1).any())
        ),
        "this is when all outputs depend on one input; ask for all inputs.": (
            _wrong(lambda reached: reached.all(0).any())
        ),
        "this multiplies entry by entry; a path goes on where another ends: use @.": (
            _wrong(start=lambda reads: reads, step=lambda reached, reads: reached * reads)
        ),
        "these are the positions; the layers are asked for.": len,
    },
    cases=_tables(),
)

"""Why attention: how many layers a path takes."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor

from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.why_attention.windows import window


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


def _with_transposed(reads: Tensor) -> int:
    """Every layer after the first one is the table with rows and columns swapped."""
    table, layers = reads.double(), 1
    while not table.all():
        table, layers = (table @ reads.double().T).clamp(max=1), layers + 1
    return layers


def _tables() -> list[tuple[Tensor]]:
    """Windows, a ring, and windows in which the first or the last reads all, or is read by all.

    And two without order, in which who reads and who is read makes a difference.
    """
    ends = [window.reference(length, 3) for length in (7, 6, 10, 9)]
    ends[0][0], ends[1][:, 0], ends[2][-1], ends[3][:, -1] = True, True, True, True
    far, ring = window.reference(9, 3), torch.eye(6).bool() | torch.eye(6).bool().roll(1, 0)
    far[0, 8] = True
    mixed, star = torch.eye(7).bool(), torch.eye(8).bool()
    mixed[[0, 3, 5, 1, 6, 2, 4, 0], [3, 5, 1, 6, 2, 4, 0, 1]] = True
    star[[0, 1, 2, 3, 4, 5, 6, 7, 7, 7], [1, 2, 3, 7, 7, 7, 7, 0, 4, 5]] = True
    star[4, 6] = True
    tables = (
        window.reference(8, 3),
        window.reference(5, 9),
        window.reference(11, 5),
        ring,
        far,
        *ends,
        mixed,
        star,
    )
    return [(table,) for table in tables]


path_length = Exercise(
    reference=_path_length,
    given={
        "the table is multiplied by itself: that doubles the layers, and one is counted.": (
            _doubled(lambda times: times + 1)
        ),
        "this is a power of two; by doubling you jump over the layers between.": (
            _doubled(lambda times: 2**times)
        ),
        "each round of the friend is counted twice; it doubles the layers, from 1 on.": (
            _doubled(lambda times: 2 * times + 2)
        ),
        "these are the doublings; the layers are asked for.": _doubled(lambda times: times),
        "this is twice a power of two; count the layers one by one.": (
            _doubled(lambda times: 2 ** (times + 1))
        ),
        "rows and columns are swapped in every layer but the first: multiply by the table.": (
            _with_transposed
        ),
        "here who is read also reads; a table need not be symmetric.": (
            lambda reads: _path_length(reads | reads.T)
        ),
        "this divides the length by the reach of the first row; a table need not be a window.": (
            lambda reads: math.ceil((len(reads) - 1) / (int(reads[0].sum()) - 1))
        ),
        "so many layers the longest path can take; these tables may need fewer.": (
            lambda reads: len(reads) - 1
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
        "this is twice the number of doublings.": _doubled(lambda times: 2 * times),
        "this is twice the number of doublings, and one.": _doubled(lambda times: 2 * times + 1),
        "each round reads twice what it has, and one layer more: it jumps over layers.": (
            _wrong(
                start=lambda reads: reads,
                first=2,
                step=lambda reached, reads: reached @ reached @ reads,
            )
        ),
        "this is the logarithm of the positions, rounded up; the table decides.": (
            lambda reads: math.ceil(math.log2(len(reads)))
        ),
        "this is half of the positions; the table decides.": lambda reads: len(reads) // 2,
        "this is when more than half of the pairs are reached; ask for all pairs.": (
            _wrong(lambda reached: reached.sum() > reached.numel() / 2)
        ),
        "the products are not kept: after the second layer nothing is new.": (
            _wrong(start=lambda reads: reads, first=2, step=lambda reached, reads: reads @ reads)
        ),
    },
    cases=_tables(),
)

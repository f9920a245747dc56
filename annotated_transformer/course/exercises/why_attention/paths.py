"""Why attention: how far a layer sees, and how many layers a path takes."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor

from annotated_transformer.course.checking import Exercise


def _window(length: int, width: int) -> Bool[Tensor, "query key"]:
    place = torch.arange(length)
    return (place[:, None] - place).abs() <= width // 2


def _distance(length: int) -> Tensor:
    place = torch.arange(length)
    return place - place[:, None]


window = Exercise(
    reference=_window,
    mistakes={
        "the window reaches r positions to each side; together they should be r.": (
            lambda n, r: _distance(n).abs() <= r
        ),
        "the ends of the window are missing: use <=.": lambda n, r: _distance(n).abs() < r // 2,
        "the mask is upside down: True means may attend.": lambda n, r: ~_window(n, r),
        "you look to the left only; the window is centred.": (
            lambda n, r: (_distance(n) <= 0) & (_distance(n) > -r)
        ),
        "you took the left half of the window; it reaches to both sides.": (
            lambda n, r: (_distance(n) <= 0) & _window(n, r)
        ),
        "you look to the right only; the window is centred.": (
            lambda n, r: (_distance(n) >= 0) & (_distance(n) < r)
        ),
        "you cut the sentence into blocks of r; each position has a window of its own.": (
            lambda n, r: torch.arange(n)[:, None] // r == torch.arange(n) // r
        ),
        "the window is the same for every query; it must move with it.": (
            lambda n, r: (torch.arange(n) < r).expand(n, n)
        ),
        "these are numbers; a mask is True and False.": lambda n, r: _window(n, r).int(),
    },
    cases=[(6, 3), (9, 5), (5, 1), (12, 7)],
)


def _layers_needed(n: int, k: int) -> list[int]:
    neighbours = math.ceil((n - 1) / (k - 1))
    dilated = [layers for layers in range(n) if k**layers >= n]
    return [neighbours, dilated[0]]


def _doubled(n: int, k: int) -> list[int]:
    return [next(m for m in range(n) if 1 + (k - 1) * (by**m - 1) // (by - 1) >= n) for by in [2]]


layers_needed = Exercise(
    reference=_layers_needed,
    mistakes={
        "n/k is an order of magnitude: each layer of neighbours adds k − 1 positions.": (
            lambda n, k: [math.ceil(n / k), _layers_needed(n, k)[1]]
        ),
        "a layer that does not reach all the way is one too few: round up.": (
            lambda n, k: [(n - 1) // (k - 1), _whole_log(n, k) - (k ** _whole_log(n, k) > n)]
        ),
        "math.log(125, 5) is a little above 3, and rounds up to 4: count with whole numbers.": (
            lambda n, k: [_layers_needed(n, k)[0], math.ceil(math.log(n, k))]
        ),
        "a layer of neighbours adds k − 1 positions; and math.log rounds: use whole numbers.": (
            lambda n, k: [math.ceil(n / k), math.ceil(math.log(n, k))]
        ),
        "the two are swapped: neighbours first, then dilated.": (
            lambda n, k: _layers_needed(n, k)[::-1]
        ),
        "this kernel is centred; here it reads its own position and those before it.": (
            lambda n, k: [math.ceil(2 * (n - 1) / (k - 1)), _layers_needed(n, k)[1]]
        ),
        "you double the gaps from layer to layer; here they grow k-fold.": (
            lambda n, k: [_layers_needed(n, k)[0], *_doubled(n, k)]
        ),
        "you count the positions that are reached, n, and not the steps between, n − 1.": (
            lambda n, k: [math.ceil(n / (k - 1)), _layers_needed(n, k)[1]]
        ),
        "each layer of neighbours reaches k − 1 positions further, not k.": (
            lambda n, k: [math.ceil((n - 1) / k), _layers_needed(n, k)[1]]
        ),
    },
    cases=[(9, 3), (100, 3), (125, 5), (64, 4), (40, 2)],
)


def _whole_log(n: int, k: int) -> int:
    return _layers_needed(n, k)[1]


def _path_length(reads: Bool[Tensor, "n n"]) -> int:
    """How many layers until every output depends on every input; each reads itself, too."""
    powers = [torch.linalg.matrix_power(reads.double(), layers) for layers in range(len(reads))]
    return sum(not power.all() for power in powers)


def _wrong(
    start: Callable[[Tensor], Tensor] = lambda reads: torch.eye(len(reads)).long(),
    step: Callable[[Tensor, Tensor], Tensor] = lambda reached, reads: reached @ reads,
    done: Callable[[Tensor], bool] = lambda reached: bool(reached.all()),
    first: int = 1,
) -> Callable[[Tensor], int | None]:
    """The same with another beginning, step, end or count."""

    def length(reads: Tensor) -> int | None:
        reads = reads.long()
        reached = start(reads)
        for layers in range(first, 2 * len(reads)):
            reached = step(reached, reads).clamp(max=1)
            if done(reached):
                return layers
        return None

    return length


path_length = Exercise(
    reference=_path_length,
    mistakes={
        "you multiply the table by itself: that doubles the layers, and you count one.": (
            lambda reads: next(
                doublings + 1
                for doublings in range(len(reads))
                if torch.linalg.matrix_power(reads.double(), 2**doublings).all()
            )
        ),
        "this is a power of two; by doubling you jump over the layers between.": (
            lambda reads: next(
                2**doublings
                for doublings in range(len(reads))
                if torch.linalg.matrix_power(reads.double(), 2**doublings).all()
            )
        ),
        "you start with one layer, and count from 1 after the second.": _wrong(lambda reads: reads),
        "you count from 0; the first layer is layer 1.": _wrong(first=0),
        "you ask whether the last position has been reached by the first; ask for all pairs.": (
            _wrong(done=lambda reached: bool(reached[-1, 0]))
        ),
        "you ask whether the first position has been reached by the last; ask for all pairs.": (
            _wrong(done=lambda reached: bool(reached[0, -1]))
        ),
        "you stop as soon as one output depends on all; ask for all outputs.": _wrong(
            done=lambda reached: bool(reached.all(1).any())
        ),
        "you multiply entry by entry; a path goes on where another ends: use @.": _wrong(
            lambda reads: reads, lambda reached, reads: reached * reads
        ),
        "you count the positions; the layers are asked for.": lambda reads: len(reads),
    },
    cases=[
        (_window(8, 3),),
        (_window(5, 9),),
        (_window(11, 5),),
        (torch.eye(6).bool() | torch.eye(6).bool().roll(1, 0),),
        (_window(9, 3) | (_distance(9) == -8),),
    ],
)

"""Positional encoding: what an offset does."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.positional_encoding.positions import (
    BASE,
    EVERY_COLUMN,
    NO_TWO,
)


def _shift_matrix(offset: int, d_model: int) -> Float[Tensor, "d_model d_model"]:
    matrix = torch.zeros(d_model, d_model)
    for column in range(0, d_model, 2):
        angle = offset / BASE ** (column / d_model)
        sine, cosine = math.sin(angle), math.cos(angle)
        block = torch.tensor([[cosine, sine], [-sine, cosine]])
        matrix[column : column + 2, column : column + 2] = block
    return matrix


def _blocks(
    angle: Callable[[int, int, int], float], block: Callable[[float, float], list[list[float]]]
) -> Callable[[int, int], Tensor]:
    """A matrix of blocks that are made from the cosine and the sine of (offset, pair, d)."""

    def matrix(offset: int, d: int) -> Tensor:
        result = torch.zeros(d, d)
        for i in range(d // 2):
            turned = angle(offset, i, d)
            entries = torch.tensor(block(math.cos(turned), math.sin(turned)))
            result[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = entries
        return result

    return matrix


def _turn(c: float, s: float) -> list[list[float]]:
    return [[c, s], [-s, c]]


def _of_pair(offset: int, i: int, d: int) -> float:
    return offset / math.pow(BASE, 2 * i / d)


def _halves(offset: int, d: int) -> Tensor:
    """The same map where all sines stand first."""
    order = [*range(0, d, 2), *range(1, d, 2)]
    return _shift_matrix(offset, d)[order][:, order]


def _from_first(offset: int, d: int) -> Tensor:
    """PE(k) PE(0)ᵀ / |PE(0)|², which is right where p is 0."""
    first = torch.tensor([0.0, 1.0] * (d // 2))
    return torch.outer(_shift_matrix(offset, d) @ first, first) / (d // 2)


shift_matrix = Exercise(
    reference=_shift_matrix,
    mistakes={
        "this goes back by k, not forward: the minus belongs to the lower sine.": (
            lambda offset, d: _shift_matrix(offset, d).T
        ),
        "both sines are positive; cos(a + b) has a minus before its sines.": _blocks(
            _of_pair, lambda c, s: [[c, s], [s, c]]
        ),
        "sine and cosine are swapped inside the blocks.": _blocks(
            _of_pair, lambda c, s: [[s, c], [-c, s]]
        ),
        "this goes one position on, whatever k is.": lambda offset, d: _shift_matrix(1, d),
        "all pairs turn by the same angle; each has a frequency of its own.": _blocks(
            lambda offset, i, d: offset, _turn
        ),
        NO_TWO: _blocks(lambda offset, i, d: offset / BASE ** (i / d), _turn),
        "this is for all sines first, then all cosines; here each cosine stands beside its sine.": (
            _halves
        ),
        "you add the encoding of k; the map has to turn, not to shift.": (
            lambda offset, d: torch.eye(d) + _shift_matrix(offset, d)
        ),
        "where k is negative the hands must turn back; you turn by |k|.": (
            lambda offset, d: _shift_matrix(abs(offset), d)
        ),
        "this leads from position 0 alone; one matrix must do for every position.": _from_first,
        "the sines are missing: a part of each sine goes into its cosine, and back.": (
            lambda offset, d: _shift_matrix(offset, d).diag().diag()
        ),
    },
    cases=[(1, 2), (3, 4), (5, 8), (-2, 6)],
)


def _offset_distance(offset: int, d_model: int) -> float:
    angles = [offset / BASE ** (column / d_model) for column in range(0, d_model, 2)]
    return math.sqrt(sum(2 - 2 * math.cos(angle) for angle in angles))


def _distance(
    angles: Callable[[int, int], list[float]],
) -> Callable[[int, int], float]:
    return lambda offset, d: math.sqrt(sum(2 - 2 * math.cos(a) for a in angles(offset, d)))


offset_distance = Exercise(
    reference=_offset_distance,
    mistakes={
        "this is the square of the distance: the root is missing.": (
            lambda offset, d: _offset_distance(offset, d) ** 2
        ),
        "each pair gives 2 − 2 cos: a factor 2 is missing.": (
            lambda offset, d: _offset_distance(offset, d) / 2**0.5
        ),
        "you count every frequency twice; there are d/2 of them.": (
            lambda offset, d: _offset_distance(offset, d) * 2**0.5
        ),
        EVERY_COLUMN: _distance(lambda k, d: [k / BASE ** (c / d) for c in range(d)]),
        "the angles are in radians already; math.cos wants them as they are.": _distance(
            lambda k, d: [math.radians(_of_pair(k, i, d)) for i in range(d // 2)]
        ),
        NO_TWO: _distance(lambda k, d: [k / BASE ** (i / d) for i in range(d // 2)]),
        "you add the distances of the pairs; add their squares, and take the root of the sum.": (
            lambda k, d: sum(math.sqrt(2 - 2 * math.cos(_of_pair(k, i, d))) for i in range(d // 2))
        ),
        "i counts the pairs: it ends at d/2 − 1, not at d − 1.": _distance(
            lambda k, d: [_of_pair(k, i, d) for i in range(d)]
        ),
        "you have one 2 for all pairs; every pair gives 2 − 2 cos.": (
            lambda k, d: math.sqrt(2 - 2 * sum(math.cos(_of_pair(k, i, d)) for i in range(d // 2)))
        ),
        "this is the dot product of the two vectors; the distance is asked for.": (
            lambda k, d: sum(math.cos(_of_pair(k, i, d)) for i in range(d // 2))
        ),
        "you took the distance of the angles; the vectors hold their sines and cosines.": (
            lambda k, d: math.sqrt(sum(_of_pair(k, i, d) ** 2 for i in range(d // 2)))
        ),
    },
    cases=[(1, 2), (3, 10), (6, 10), (4, 8), (-5, 6), (3000, 4)],
)

"""Positional encoding: angles, wavelengths, the matrix."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise

BASE = 10000.0

NO_TWO = "the 2 is missing: i counts the pairs, and the exponent is 2i/d."
EVERY_COLUMN = "a frequency for every column: a sine and its cosine must share one."
LITERAL = "you write the column for i; i counts pairs: columns 2i and 2i + 1 belong to pair i."
UP_TO_ONE = "the last exponent is (d − 2)/d, not 1: divide by d."
BRACKETS = "** comes before * and /: put the whole exponent into brackets."


def _angle(position: int, column: int, d_model: int) -> float:
    return position / math.pow(BASE, 2 * (column // 2) / d_model)


def _entry(position: int, column: int, d_model: int) -> float:
    return (math.cos if column % 2 else math.sin)(_angle(position, column, d_model))


angle = Exercise(
    reference=_angle,
    mistakes={
        EVERY_COLUMN: lambda pos, column, d: pos / BASE ** (column / d),
        LITERAL: lambda pos, column, d: pos / BASE ** (2 * column / d),
        NO_TWO: lambda pos, column, d: pos / BASE ** (column // 2 / d),
        "you multiply by the power; the position is divided by it.": (
            lambda pos, column, d: pos * BASE ** (2 * (column // 2) / d)
        ),
        BRACKETS: lambda pos, column, d: pos / BASE**2 * (column // 2) / d,
        "you count positions from 1; the first one is 0.": (
            lambda pos, column, d: _angle(pos + 1, column, d)
        ),
        "these are degrees; the formula has radians.": (
            lambda pos, column, d: math.degrees(_angle(pos, column, d))
        ),
        "this is the entry of the matrix; the angle inside the sine is asked for.": _entry,
        "this is the frequency: multiply it by the position.": (
            lambda pos, column, d: _angle(1, column, d)
        ),
        UP_TO_ONE: lambda pos, column, d: pos / BASE ** (2 * (column // 2) / (d - 2)),
    },
    cases=[(3, 2, 4), (5, 3, 8), (7, 6, 10), (2, 5, 6), (4, 0, 12)],
)


def _wavelength(column: int, d_model: int) -> float:
    return 2 * math.pi * math.pow(BASE, 2 * (column // 2) / d_model)


wavelength = Exercise(
    reference=_wavelength,
    mistakes={
        "this is the frequency; how many positions a whole turn takes is asked for.": (
            lambda column, d: _angle(1, column, d)
        ),
        "2π is missing: a whole turn is 2π radians.": lambda column, d: 1 / _angle(1, column, d),
        "a whole turn is 2π, not π.": lambda column, d: math.pi / _angle(1, column, d),
        "this is 2π times the frequency; divide 2π by the frequency.": (
            lambda column, d: 2 * math.pi * _angle(1, column, d)
        ),
        EVERY_COLUMN: lambda column, d: 2 * math.pi * BASE ** (column / d),
        LITERAL: lambda column, d: 2 * math.pi * BASE ** (2 * column / d),
        NO_TWO: lambda column, d: 2 * math.pi * BASE ** (column // 2 / d),
        UP_TO_ONE: lambda column, d: 2 * math.pi * BASE ** (2 * (column // 2) / (d - 2)),
        "this is in degrees: a whole turn is 2π radians.": (
            lambda column, d: 360 / _angle(1, column, d)
        ),
    },
    cases=[(0, 4), (2, 4), (3, 8), (7, 10), (4, 6), (1, 12)],
)


def _sinusoids(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    position = torch.arange(length).unsqueeze(1)
    angles = position / BASE ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def _by_entry(entry: Callable[[int, int, int], float]) -> Callable[[int, int], Tensor]:
    """The matrix whose entries are given by (position, column, d)."""
    return lambda length, d: torch.tensor(
        [[entry(position, column, d) for column in range(d)] for position in range(length)]
    )


def _wave(column: int, angle: float) -> float:
    return math.cos(angle) if column % 2 else math.sin(angle)


sinusoids = Exercise(
    reference=_sinusoids,
    mistakes={
        "first all sines, then all cosines: the paper puts each cosine beside its sine.": (
            lambda length, d: torch.cat(
                [_sinusoids(length, d)[:, ::2], _sinusoids(length, d)[:, 1::2]], dim=1
            )
        ),
        "sine and cosine are swapped: even columns have the sine.": _by_entry(
            lambda position, column, d: _entry(position, column ^ 1, d)
        ),
        "these are sines only; odd columns have the cosine.": _by_entry(
            lambda position, column, d: math.sin(_angle(position, column, d))
        ),
        EVERY_COLUMN: _by_entry(
            lambda position, column, d: _wave(column, position / BASE ** (column / d))
        ),
        LITERAL: _by_entry(
            lambda position, column, d: _wave(column, position / BASE ** (2 * column / d))
        ),
        NO_TWO: _by_entry(
            lambda position, column, d: _wave(column, position / BASE ** (column // 2 / d))
        ),
        "you count positions from 1; the first row belongs to position 0.": _by_entry(
            lambda position, column, d: _entry(position + 1, column, d)
        ),
        "you multiply by the power; the position is divided by it.": _by_entry(
            lambda position, column, d: _wave(column, position / _angle(1, column, d))
        ),
        "the matrix lies on its side: a row belongs to a position.": (
            lambda length, d: _sinusoids(length, d).T
        ),
        "these are the angles, one for each pair; take their sine and their cosine.": (
            lambda length, d: _by_entry(_angle)(length, d)[:, ::2]
        ),
        UP_TO_ONE: _by_entry(
            lambda position, column, d: _wave(
                column, position / BASE ** (2 * (column // 2) / (d - 2))
            )
        ),
    },
    cases=[(2, 4), (5, 6), (7, 10), (3, 8)],
)

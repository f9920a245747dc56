"""Positional encoding: wavelengths, and how far apart two positions are."""

import math
from collections.abc import Callable, Iterable

from transformer_workbook.judge.exercises import Exercise

BASE = 10000.0

NO_TWO = "a 2 is missing: i counts the pairs, and the exponent has 2i/d."
EVERY_COLUMN = "every column has a frequency of its own; a sine and its cosine must share one."
BRACKETS = "** comes before * and /: put the whole exponent into brackets."


def _wavelength(column: int, d_model: int) -> float:
    """How many positions does a whole turn take in a column?"""
    return 2 * math.pi * math.pow(BASE, 2 * (column // 2) / d_model)


def _turns(
    turn: int | float = 2 * math.pi,
    power: Callable[[int, int], float] = lambda c, d: BASE ** (2 * (c // 2) / d),
) -> Callable[[int, int], float]:
    """A whole turn times a power of the base that depends on (column, d)."""
    return lambda column, d: turn * power(column, d)


wavelength = Exercise(
    reference=_wavelength,
    given={
        EVERY_COLUMN: _turns(power=lambda c, d: BASE ** (c / d)),
        "this has 2 · column for 2i; i counts pairs: columns 2i and 2i + 1 belong to pair i.": (
            _turns(power=lambda c, d: BASE ** (2 * c / d))
        ),
        NO_TWO: _turns(power=lambda c, d: BASE ** (c // 2 / d)),
        BRACKETS: _turns(power=lambda c, d: BASE**2 * (c // 2) / d),
        "2π is missing: a whole turn is 2π radians.": _turns(1),
        "a whole turn is 2π, not π.": _turns(math.pi),
        "this is in degrees: a whole turn is 2π radians.": _turns(360),
        "this is the frequency; how many positions a whole turn takes is asked for.": (
            _turns(1, lambda c, d: BASE ** (-2 * (c // 2) / d))
        ),
        "this is 2π times the frequency; divide 2π by the frequency.": (
            _turns(power=lambda c, d: BASE ** (-2 * (c // 2) / d))
        ),
        "2i/d multiplies the base here; it is its exponent.": (
            _turns(power=lambda c, d: BASE * 2 * (c // 2) / d)
        ),
        "only 2i is the exponent here, and all is divided by d; the exponent is 2i/d.": (
            _turns(power=lambda c, d: BASE ** (2 * (c // 2)) / d)
        ),
        "the pairs are counted from 1; columns 0 and 1 belong to pair 0.": (
            _turns(power=lambda c, d: BASE ** (2 * (c // 2 + 1) / d))
        ),
        "columns 1 and 2 are a pair here; the pairs are 0 and 1, 2 and 3, and so on.": (
            _turns(power=lambda c, d: BASE ** (2 * ((c + 1) // 2) / d))
        ),
        "a column and the one d/2 farther are a pair here; neighbours are.": (
            _turns(power=lambda c, d: BASE ** (2 * (c % (d // 2)) / d))
        ),
        "the base is 1000 here; it is 10000.": _turns(
            power=lambda c, d: 1000 ** (2 * (c // 2) / d)
        ),
        "the last exponent is (d − 2)/d, not 1: divide by d.": (
            _turns(power=lambda c, d: BASE ** (2 * (c // 2) / (d - 2)))
        ),
        "these are whole numbers of positions; a wavelength need not be one.": (
            lambda column, d: math.ceil(_wavelength(column, d))
        ),
        "this is cut to a whole number; a wavelength need not be one.": (
            lambda column, d: int(_wavelength(column, d))
        ),
        "this is rounded to a whole number; a wavelength need not be one.": (
            lambda column, d: round(_wavelength(column, d))
        ),
    },
    cases=[(0, 4), (2, 4), (3, 8), (7, 10), (4, 6), (1, 12)],
)


def _offset_distance(offset: int, d_model: int) -> float:
    """How far apart are two encodings with that offset?"""
    angles = [offset / BASE ** (column / d_model) for column in range(0, d_model, 2)]
    return math.sqrt(sum(2 - 2 * math.cos(angle) for angle in angles))


def _distance(
    power: Callable[[int, int], float] = lambda i, d: BASE ** (-2 * i / d),
    term: Callable[[float], float] = lambda angle: 2 - 2 * math.cos(angle),
    pairs: Callable[[int], Iterable[int]] = lambda d: range(d // 2),
    last: Callable[[float], float] = math.sqrt,
) -> Callable[[int, int], float]:
    """The distance, with another frequency, term, number of pairs or last step."""
    return lambda k, d: last(sum(term(k * power(i, d)) for i in pairs(d)))


offset_distance = Exercise(
    reference=_offset_distance,
    given={
        BRACKETS: _distance(power=lambda i, d: BASE**-2 * i / d),
        NO_TWO: _distance(power=lambda i, d: BASE ** (-i / d)),
        EVERY_COLUMN: _distance(power=lambda i, d: BASE ** (-i / d), pairs=range),
        "i counts the pairs: it ends at d/2 − 1, not at d − 1.": _distance(pairs=range),
        "this is the square of the distance: the root is missing.": _distance(last=float),
        "each pair gives 2 − 2 cos: a factor 2 is missing.": (
            _distance(term=lambda angle: 1 - math.cos(angle))
        ),
        "every pair counts twice here; there are d/2 of them.": (
            _distance(last=lambda total: math.sqrt(2 * total))
        ),
        "the minus in the exponent is missing: the frequencies fall.": (
            _distance(power=lambda i, d: BASE ** (2 * i / d))
        ),
        "i goes in steps of 2 here, and is doubled as well.": (
            _distance(pairs=lambda d: range(0, d, 2))
        ),
        "the first pair is missing: i begins at 0.": _distance(pairs=lambda d: range(1, d // 2)),
        "i goes from 1 to d/2 here; it goes from 0 to d/2 − 1.": (
            _distance(pairs=lambda d: range(1, d // 2 + 1))
        ),
        "the last pair is missing: i ends at d/2 − 1.": (
            _distance(pairs=lambda d: range(d // 2 - 1))
        ),
        "there is one pair too many: i ends at d/2 − 1.": (
            _distance(pairs=lambda d: range(d // 2 + 1))
        ),
        "each pair gives 2 − cos here; it is 2 − 2 cos.": (
            _distance(term=lambda angle: 2 - math.cos(angle))
        ),
        "each pair gives 2 + 2 cos here; it is 2 − 2 cos.": (
            _distance(term=lambda angle: 2 + 2 * math.cos(angle))
        ),
        "these are sines; each pair gives 2 − 2 cos.": (
            _distance(term=lambda angle: abs(2 - 2 * math.sin(angle)))
        ),
        "the offset is not used: each angle is k times a frequency.": (
            lambda k, d: _offset_distance(1, d)
        ),
        "the offset stands before the cosine; it belongs into it.": (
            lambda k, d: math.sqrt(
                sum(abs(2 - 2 * k * math.cos(BASE ** (-2 * i / d))) for i in range(d // 2))
            )
        ),
        "the base is 1000 here; it is 10000.": _distance(power=lambda i, d: 1000 ** (-2 * i / d)),
        "the 2 stands once, before the sum; every pair gives 2 − 2 cos.": (
            _distance(term=math.cos, last=lambda total: math.sqrt(abs(2 - 2 * total)))
        ),
        "only the sines are compared; each pair has a cosine, too.": (
            _distance(term=lambda angle: math.sin(angle) ** 2)
        ),
        "only the cosines are compared; each pair has a sine, too.": (
            _distance(term=lambda angle: (1 - math.cos(angle)) ** 2)
        ),
        "the angles are in radians already; cos wants them as they are.": (
            _distance(term=lambda angle: 2 - 2 * math.cos(math.radians(angle)))
        ),
        "this adds the distances of the pairs; add their squares, and take one root.": (
            _distance(term=lambda angle: math.sqrt(2 - 2 * math.cos(angle)), last=float)
        ),
        "this is the mean over the pairs; their sum is asked for.": (
            lambda k, d: _offset_distance(k, d) / math.sqrt(d // 2)
        ),
        "this is the product of the two vectors; their distance is asked for.": (
            _distance(term=math.cos, last=float)
        ),
        "this is the distance of the angles; the vectors hold their sines and cosines.": (
            _distance(term=lambda angle: angle**2)
        ),
    },
    cases=[(1, 2), (3, 10), (6, 10), (4, 8), (-5, 6), (3000, 40), (500, 4), (800, 6)],
)

"""Why attention: the length at which attention and a recurrence need equally many operations."""

from collections.abc import Callable

from annotated_transformer.course.derivations import Derivation

Steps = tuple[int | float, ...]


def _break_even(n: int, g: int, d: int) -> tuple[int, int, int, float, float]:
    """Derive the length at which attention and recurrence need equally many operations."""
    attention = 8 * d**2 + 4 * n * d
    recurrent = 4 * g * d**2
    length = (g - 2) * d
    return attention, recurrent, length, (g - 2) / g, 2 * (g - 1) / g


def _costs(products: int, pairs: int, gates: int) -> Callable[..., Steps]:
    """Other numbers of operations."""
    return lambda n, g, d: (
        products * d**2 + pairs * n * d,
        gates * g * d**2,
        *_break_even(n, g, d)[2:],
    )


def _meeting(length: Callable[[int], float]) -> Callable[..., Steps]:
    """Another n*, in units of d."""
    return lambda n, g, d: (
        *_break_even(n, g, d)[:2],
        length(g) * d,
        *_break_even(n, g, d)[3:],
    )


def _ending(
    fourth: Callable[..., float] = lambda n, g, d: (g - 2) / g,
    fifth: Callable[..., float] = lambda n, g, d: 2 * (g - 1) / g,
) -> Callable[..., Steps]:
    """Another step 4 or 5."""
    return lambda n, g, d: (*_break_even(n, g, d)[:3], fourth(n, g, d), fifth(n, g, d))


COSTS = {
    "step 1 has multiplications only; each has its addition": (4, 2, 4),
    "step 2 has multiplications only, or one matrix of each pair": (8, 4, 2),
    "step 1 has three projections; that of the output is the fourth": (6, 4, 4),
    "step 1 has one projection; there are four": (2, 4, 4),
    "step 1 lacks the four projections": (0, 4, 4),
    "step 1 has the scores or the weighted sum, not both": (8, 2, 4),
    "step 1 has additions for the projections only; the pairs have them, too": (4, 4, 4),
}
LENGTHS: dict[str, Callable[[int], float]] = {
    "step 3 is for the LSTM alone; g may be any number": lambda g: 2,
    "step 3 is for the GRU alone; g may be any number": lambda g: 1,
    "step 3 lacks the projections of the multi-head layer": lambda g: g,
    "step 3 takes half of the projections away": lambda g: g - 1,
    "step 3 adds the projections; bring them to the other side": lambda g: g + 2,
}
break_even = Derivation(
    reference=_break_even,
    mistakes={
        "step 1 is for the whole sentence; that of one word is asked for.": (
            lambda n, g, d: (n * _break_even(n, g, d)[0], *_break_even(n, g, d)[1:])
        ),
        **{f"{said}.": _costs(*numbers) for said, numbers in COSTS.items()},
        **{f"{said}.": _meeting(length) for said, length in LENGTHS.items()},
        "step 4 is for the LSTM alone; g may be any number.": _ending(lambda n, g, d: 1 / 2),
        "step 4 is for the GRU alone; g may be any number.": _ending(lambda n, g, d: 1 / 3),
        "step 4 is the share at the given n; put n* in its place.": (
            _ending(lambda n, g, d: n / (n + 2 * d))
        ),
        "step 4 is the share at 2n*; it is asked for at n*.": (
            _ending(lambda n, g, d: (g - 2) / (g - 1))
        ),
        "step 4 is the share of the projections; scores and sum have the rest.": (
            _ending(lambda n, g, d: 2 / g)
        ),
        "step 4 compares scores and sum with the projections; compare with the whole.": (
            _ending(lambda n, g, d: (g - 2) / 2)
        ),
        "step 5 is 2: only the pairs grow with the length, for one word.": (
            _ending(fifth=lambda n, g, d: 2)
        ),
        "step 5 is 4: only the pairs grow fourfold, for the whole sentence.": (
            _ending(fifth=lambda n, g, d: 4)
        ),
        "step 5 is 1, as at n*; at 2n* the pairs have grown.": _ending(fifth=lambda n, g, d: 1),
        "step 5 compares the layer at 2n* with a recurrence at n*; both read 2n* words.": (
            _ending(fifth=lambda n, g, d: 4 * (g - 1) / g)
        ),
        "step 5 compares the layers at the given n; put 2n* in its place.": (
            _ending(fifth=lambda n, g, d: (2 + n / d) / g)
        ),
        "step 5 compares the layers at 2n; put n* in the place of n.": (
            _ending(fifth=lambda n, g, d: 2 * (1 + n / d) / g)
        ),
    },
    cases=[(10, 3, 64), (50, 4, 20), (7, 5, 8)],
)

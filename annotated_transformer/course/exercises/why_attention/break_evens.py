"""Why attention: the length at which attention and a recurrence need equally many operations."""

from collections.abc import Callable

from annotated_transformer.course.checking import Derivation

Steps = tuple[int | float, ...]


def _break_even(n: int, g: int, d: int) -> tuple[int, int, int, float, float]:
    """Derive the length at which attention and recurrence need equally many operations."""
    attention = 8 * d**2 + 4 * n * d
    recurrent = 4 * g * d**2
    length = (g - 2) * d
    return attention, recurrent, length, (g - 2) / g, 2 * (g - 1) / g


def _costs(
    products: int = 8, pairs: int = 4, gates: int = 4, *, follows: bool = True
) -> Callable[..., Steps]:
    """Other numbers of operations, and after them what follows from them, or what is right."""

    def steps(n: int, g: int, d: int) -> Steps:
        two = products * d**2 + pairs * n * d, gates * g * d**2
        share = (gates * g - products) / (gates * g)
        length = (gates * g - products) / pairs * d
        return *two, *((length, share, 1 + share) if follows else _break_even(n, g, d)[2:])

    return steps


def _meeting(
    length: Callable[[int], float], ends: Callable[[int], Steps] | None = None
) -> Callable[..., Steps]:
    """Another n*, in units of d, and after it such steps, or what follows from it."""

    def steps(n: int, g: int, d: int) -> Steps:
        x, right = length(g), _break_even(n, g, d)
        return *right[:2], x * d, *(ends(g) if ends else (x / (x + 2), 2 * (1 + x) / g))

    return steps


def _ending(
    fourth: Callable[..., float] = lambda n, g, d: _right_ends(g)[0],
    fifth: Callable[..., float] = lambda n, g, d: _right_ends(g)[1],
) -> Callable[..., Steps]:
    """Another step 4 or 5."""
    return lambda n, g, d: (*_break_even(n, g, d)[:3], fourth(n, g, d), fifth(n, g, d))


def _right_ends(g: int) -> Steps:
    return (g - 2) / g, 2 * (g - 1) / g


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
        "steps 1 and 2 are for the whole sentence; those of one word are asked for.": (
            lambda n, g, d: (
                n * (8 * d**2 + 4 * n * d),
                n * 4 * g * d**2,
                *_break_even(n, g, d)[2:],
            )
        ),
        "these are multiplications only; in steps 1 and 2 each has its addition.": (
            lambda n, g, d: (
                4 * d**2 + 2 * n * d,
                2 * g * d**2,
                *_break_even(n, g, d)[2:],
            )
        ),
        **{f"{said}.": _costs(*numbers, follows=False) for said, numbers in COSTS.items()},
        **{f"{said}; the rest follows.": _costs(*numbers) for said, numbers in COSTS.items()},
        **{f"{said}.": _meeting(length, _right_ends) for said, length in LENGTHS.items()},
        **{f"{said}; the rest follows.": _meeting(length) for said, length in LENGTHS.items()},
        "steps 4 and 5 are for the LSTM alone; g may be any number.": (
            _ending(lambda n, g, d: 1 / 2, lambda n, g, d: 3 / 2)
        ),
        "steps 4 and 5 are for the GRU alone; g may be any number.": (
            _ending(lambda n, g, d: 1 / 3, lambda n, g, d: 4 / 3)
        ),
        "steps 3 to 5 are numbers for the LSTM alone; g may be any number.": (
            _meeting(lambda g: 2, lambda g: (1 / 2, 3 / 2))
        ),
        "steps 3 to 5 are numbers for the GRU alone; g may be any number.": (
            _meeting(lambda g: 1, lambda g: (1 / 3, 4 / 3))
        ),
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

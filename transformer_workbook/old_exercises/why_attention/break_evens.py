"""Why attention: the length at which attention and a recurrence need equally many operations."""

from collections.abc import Callable

from transformer_workbook.judge.exercises import Derivation

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


def _beginning(
    first: Callable[..., float] = lambda n, g, d: 8 * d**2 + 4 * n * d,
    second: Callable[..., float] = lambda n, g, d: 4 * g * d**2,
    third: Callable[..., float] = lambda n, g, d: (g - 2) * d,
) -> Callable[..., Steps]:
    """Another step 1, 2 or 3."""
    return lambda n, g, d: (
        first(n, g, d),
        second(n, g, d),
        third(n, g, d),
        *_break_even(n, g, d)[3:],
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
    "step 1 has half of the operations of the projections": (4, 4, 4),
    "step 1 has twice the operations of the pairs": (8, 8, 4),
    "step 1 has twice the operations of the projections": (16, 4, 4),
    "step 1 has twice the operations": (16, 8, 4),
    "step 1 lacks the scores and the weighted sum": (8, 0, 4),
    "step 2 has one matrix of each pair and multiplications only; there are two, with additions": (
        (8, 4, 1)
    ),
    "step 2 has twice the operations": (8, 4, 8),
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
    given={
        "step 1 is for the whole sentence; that of one word is asked for.": (
            lambda n, g, d: (n * _break_even(n, g, d)[0], *_break_even(n, g, d)[1:])
        ),
        "step 1 has n² in the pairs; for one of n words it is n.": (
            _beginning(lambda n, g, d: 8 * d**2 + 4 * n**2 * d)
        ),
        "step 1 has the projections of all n words; those of one are asked for.": (
            _beginning(lambda n, g, d: 8 * n * d**2 + 4 * n * d)
        ),
        "step 1 is divided by n twice.": _beginning(lambda n, g, d: 8 * d**2 / n + 4 * d),
        "step 1 has 4d for the pairs; one word still meets n.": (
            _beginning(lambda n, g, d: 8 * d**2 + 4 * d)
        ),
        "step 1 has d² in the pairs; there it is d.": (
            _beginning(lambda n, g, d: 8 * d**2 + 4 * n * d**2)
        ),
        "step 2 is for the whole sentence; that of one word is asked for.": (
            _beginning(second=lambda n, g, d: 4 * g * n * d**2)
        ),
        "step 2 has d; the matrices have d² numbers.": (
            _beginning(second=lambda n, g, d: 4 * g * d)
        ),
        "step 2 lacks g, the pairs of matrices.": _beginning(second=lambda n, g, d: 4 * d**2),
        "step 2 is for the LSTM alone; g may be any number.": (
            _beginning(second=lambda n, g, d: 16 * d**2)
        ),
        "step 2 is for the GRU alone; g may be any number.": (
            _beginning(second=lambda n, g, d: 12 * d**2)
        ),
        "step 3 lacks d: the length grows with it.": (_beginning(third=lambda n, g, d: g - 2)),
        "step 3 has d²; divide by 4d.": _beginning(third=lambda n, g, d: (g - 2) * d**2),
        "step 3 is divided by d; multiply by it.": (_beginning(third=lambda n, g, d: (g - 2) / d)),
        "step 3 has n in it; at one length only both need the same.": (
            _beginning(third=lambda n, g, d: (g - 2) * n)
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
        "step 4 is a number of operations; a share is asked for.": (
            _ending(lambda n, g, d: 4 * (g - 2) * d**2)
        ),
        "step 4 is the share at (g − 1) d; n* is (g − 2) d.": (
            _ending(lambda n, g, d: (g - 1) / (g + 1))
        ),
        "step 4 is (g − 1) / g; the pairs have g − 2 parts of g.": (
            _ending(lambda n, g, d: (g - 1) / g)
        ),
        "step 4 is 1 / g; the pairs have g − 2 parts of g.": _ending(lambda n, g, d: 1 / g),
        "step 4 has half of the pairs' operations: scores and sum have 2nd each.": (
            _ending(lambda n, g, d: (g - 2) / (g + 2))
        ),
        "step 5 has scores and sum only; the projections are needed, too.": (
            _ending(fifth=lambda n, g, d: 2 * (g - 2) / g)
        ),
        "step 5 lets scores and sum grow fourfold; for one word they grow twofold.": (
            _ending(fifth=lambda n, g, d: (4 * g - 6) / g)
        ),
        "step 5 is a number of operations; divide by those of the recurrence.": (
            _ending(fifth=lambda n, g, d: 8 * (g - 1) * d**2)
        ),
        "step 5 is for the LSTM alone; g may be any number.": _ending(fifth=lambda n, g, d: 3 / 2),
        "step 5 is for the GRU alone; g may be any number.": _ending(fifth=lambda n, g, d: 4 / 3),
    },
    cases=[(10, 3, 64), (50, 4, 20), (7, 5, 8)],
)

"""Luong attention: how many parameters its scores have."""

from collections.abc import Callable

from transformer_workbook.judge.exercises import Exercise


def _score_parameters(score: str, d_s: int, d_h: int, d: int) -> int:
    """How many parameters a score has."""
    if score == "dot":
        return 0
    if score == "general":
        return d_s * d_h
    return d * (d_s + d_h) + d


Count = Callable[[int, int, int], int]

COUNTS: dict[str, Count] = {
    "dot": lambda d_s, d_h, d: 0,
    "general": lambda d_s, d_h, d: d_s * d_h,
    "concat": lambda d_s, d_h, d: d * (d_s + d_h) + d,
}


def _counts(**others: Callable[..., int | None]) -> Callable[..., int | None]:
    """The numbers of parameters, with another count for one score or more."""
    counts: dict[str, Callable[..., int | None]] = {**COUNTS, **others}
    return lambda score, *widths: counts[score](*widths)


OF_DOT: dict[str, Count] = {
    "d_s": lambda s, h, d: s,
    "2 d_s": lambda s, h, d: 2 * s,
    "d": lambda s, h, d: d,
    "1": lambda s, h, d: 1,
    "d_s · d_h": lambda s, h, d: s * h,
}

OF_GENERAL: dict[str, Count] = {
    "d_s · d_h + d_s, with a bias": lambda s, h, d: s * h + s,
    "d_s · d_h + d_h, with a bias": lambda s, h, d: s * h + h,
    "d_s · d_h + 1, with a bias": lambda s, h, d: s * h + 1,
    "d_s · d_h + d, with a vector v": lambda s, h, d: s * h + d,
    "2 d_s · d_h": lambda s, h, d: 2 * s * h,
    "d_s + d_h": lambda s, h, d: s + h,
    "d_s²": lambda s, h, d: s * s,
    "d_h²": lambda s, h, d: h * h,
    "d²": lambda s, h, d: d * d,
    "d · d_s · d_h": lambda s, h, d: d * s * h,
    "d · (d_s + d_h), which lead to the width d": lambda s, h, d: d * (s + h),
    "those of concat": COUNTS["concat"],
}

OF_THE_MATRIX: dict[str, Count] = {
    "d · d_s; it meets the memory, too": lambda s, h, d: d * s,
    "d · d_h; it meets the state, too": lambda s, h, d: d * h,
    "d · d_s · d_h; s and h stand in a row": lambda s, h, d: d * s * h,
    "d · d_s + d_h; put brackets around d_s + d_h": lambda s, h, d: d * s + h,
    "d_s + d_h; it has d rows": lambda s, h, d: s + h,
    "d_s · d_h; that is the matrix of general": lambda s, h, d: s * h,
    "(d_s + d_h)²; it has d rows": lambda s, h, d: (s + h) ** 2,
    "2d², which is for equal widths": lambda s, h, d: 2 * d * d,
    "2d · (d_s + d_h)": lambda s, h, d: 2 * d * (s + h),
}

OF_V: dict[str, Count] = {
    "0; it is missing": lambda s, h, d: 0,
    "1": lambda s, h, d: 1,
    "d_s": lambda s, h, d: s,
    "d_h": lambda s, h, d: h,
    "d_s + d_h": lambda s, h, d: s + h,
    "d + 1, with a bias": lambda s, h, d: d + 1,
    "2d, with a bias": lambda s, h, d: 2 * d,
    "2d + 1, with biases": lambda s, h, d: 2 * d + 1,
    "d²": lambda s, h, d: d * d,
}


def _concat(matrix: Count = lambda s, h, d: d * (s + h), v: Count = lambda s, h, d: d) -> Count:
    return lambda s, h, d: matrix(s, h, d) + v(s, h, d)


score_parameters = Exercise(
    reference=_score_parameters,
    given={
        **{
            f"there is no answer for {score} yet.": _counts(**{score: lambda s, h, d: None})
            for score in COUNTS
        },
        **{
            f"dot has nothing to train, so 0 numbers, not {name}.": _counts(dot=count)
            for name, count in OF_DOT.items()
        },
        **{
            f"general has a matrix of d_s · d_h numbers, not {name}.": _counts(general=count)
            for name, count in OF_GENERAL.items()
        },
        **{
            f"the matrix of concat has d · (d_s + d_h) numbers, not {name}.": (
                _counts(concat=_concat(count))
            )
            for name, count in OF_THE_MATRIX.items()
        },
        **{
            f"v has d numbers, not {name}.": _counts(concat=_concat(v=count))
            for name, count in OF_V.items()
        },
        "concat has a matrix and a vector: v is missing, and the matrix has d rows.": (
            _counts(concat=lambda s, h, d: s + h)
        ),
        "the numbers of matrix and vector are added, not multiplied.": (
            _counts(concat=lambda s, h, d: d * (s + h) * d)
        ),
        "there are biases in general and in concat; these scores have none.": (
            _counts(
                general=OF_GENERAL["d_s · d_h + d_s, with a bias"],
                concat=_concat(v=OF_V["2d, with a bias"]),
            )
        ),
    },
    cases=[
        ("dot", 4, 4, 5),
        ("general", 3, 4, 5),
        ("general", 6, 2, 4),
        ("concat", 3, 4, 5),
        ("concat", 6, 5, 2),
    ],
)

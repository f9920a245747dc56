"""Why attention: operations, and work that goes into padding."""

from annotated_transformer.course.checking import Exercise


def _attention_operations(n: int, d: int) -> int:
    projections = 4 * n * d * d
    pairs = 2 * n * n * d
    return 2 * (projections + pairs)


attention_operations = Exercise(
    reference=_attention_operations,
    mistakes={
        "the projections are missing: four matrices, d × d, at every position.": (
            lambda n, d: 4 * n * n * d
        ),
        "the pairs are missing: every query meets every key, and every value.": (
            lambda n, d: 8 * n * d * d
        ),
        "you count the scores, but not the weighted sum of the values.": (
            lambda n, d: 8 * n * d * d + 2 * n * n * d
        ),
        "W^O is missing: there are four projections, not three.": (
            lambda n, d: 6 * n * d * d + 4 * n * n * d
        ),
        "you count multiplications only; each has its addition, so it is twice as many.": (
            lambda n, d: 4 * n * d * d + 2 * n * n * d
        ),
        "you project every pair; a position is projected once, whoever asks.": (
            lambda n, d: 8 * n * n * d * d + 4 * n * n * d
        ),
        "n and d are swapped.": lambda n, d: 8 * d * n * n + 4 * d * d * n,
        "these are the operations of one position; there are n of them.": (
            lambda n, d: 8 * d * d + 4 * n * d
        ),
    },
    cases=[(2, 3), (10, 4), (50, 64), (512, 256)],
)


def _break_even(pairs: int, d: int) -> int:
    return max(0, (pairs - 2) * d)


break_even = Exercise(
    reference=_break_even,
    mistakes={
        "this is the paper's rule, n = d; count the projections, and all pairs of matrices.": (
            lambda pairs, d: d
        ),
        "the projections of the attention layer are missing.": lambda pairs, d: pairs * d,
        "the recurrent layer has two products for each pair: of the input and of the state.": (
            lambda pairs, d: max(0, pairs * d // 2 - 2 * d)
        ),
        "W^O is missing: the attention layer has four projections, not three.": (
            lambda pairs, d: max(0, (2 * pairs - 3) * d // 2)
        ),
        "two of the attention layer's four projections are missing: exercise 2 counts them.": (
            lambda pairs, d: (pairs - 1) * d
        ),
        "a length cannot be negative: the answer is then 0.": lambda pairs, d: (pairs - 2) * d,
        "you counted the attention layer's pairs once; the scores need them, and the sum.": (
            lambda pairs, d: max(0, 2 * (pairs - 2) * d)
        ),
        "this is the crossover for three pairs, the GRU's, whatever their number.": (
            lambda pairs, d: d if pairs > 1 else 0
        ),
    },
    cases=[(3, 256), (4, 64), (1, 32), (2, 16)],
)


def _wasted_pairs(lengths: list[int]) -> float:
    used = sum(n * n for n in lengths)
    return 1 - used / (len(lengths) * max(lengths) ** 2)


wasted_pairs = Exercise(
    reference=_wasted_pairs,
    mistakes={
        "this is the share of wasted positions; the table has a cell for every pair.": (
            lambda ns: 1 - sum(ns) / (len(ns) * max(ns))
        ),
        "this is the share that is used; the wasted one is asked for.": (
            lambda ns: sum(n * n for n in ns) / (len(ns) * max(ns) ** 2)
        ),
        "this is a number of cells; a share of all cells is asked for.": (
            lambda ns: len(ns) * max(ns) ** 2 - sum(n * n for n in ns)
        ),
        "you count padding as key only; the rows of padding are computed, too.": (
            lambda ns: sum(n * (max(ns) - n) for n in ns) / (len(ns) * max(ns) ** 2)
        ),
        "you count cells with padding as query and as key; one of the two is enough.": (
            lambda ns: sum((max(ns) - n) ** 2 for n in ns) / (len(ns) * max(ns) ** 2)
        ),
        "you compare with one table; every sentence of the batch has its own.": (
            lambda ns: 1 - sum(n * n for n in ns) / max(ns) ** 2
        ),
        "you square the sum of the lengths; add up the squares.": (
            lambda ns: 1 - sum(ns) ** 2 / (len(ns) * max(ns)) ** 2
        ),
        "the tables are as long as the longest sentence, not as the mean.": (
            lambda ns: 1 - sum(n * n for n in ns) * len(ns) / sum(ns) ** 2
        ),
    },
    cases=[([2, 4],), ([3, 5, 10],), ([7, 7, 7],), ([1, 6, 2, 3],)],
)

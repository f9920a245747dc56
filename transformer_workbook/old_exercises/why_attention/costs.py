"""Why attention: work that goes into padding."""

from transformer_workbook.judge.exercises import Exercise


def _wasted_pairs(lengths: list[int]) -> float:
    """Find the share of all cells of a padded batch that padding wastes."""
    used = sum(n * n for n in lengths)
    return 1 - used / (len(lengths) * max(lengths) ** 2)


def _cells(lengths: list[int]) -> int:
    return len(lengths) * max(lengths) ** 2


wasted_pairs = Exercise(
    reference=_wasted_pairs,
    given={
        "this is the share of wasted positions; the table has a cell for every pair.": (
            lambda ns: 1 - sum(ns) / (len(ns) * max(ns))
        ),
        "this is the share that is used; the wasted one is asked for.": (
            lambda ns: sum(n * n for n in ns) / _cells(ns)
        ),
        "this is a number of cells; a share of all cells is asked for.": (
            lambda ns: _cells(ns) - sum(n * n for n in ns)
        ),
        "these are the wasted cells per used one; a share of all cells is asked for.": (
            lambda ns: _cells(ns) / sum(n * n for n in ns) - 1
        ),
        "this is a percentage; a share lies between 0 and 1.": (lambda ns: 100 * _wasted_pairs(ns)),
        "padding is counted on one side only; the other side of the table has it, too.": (
            lambda ns: sum(n * (max(ns) - n) for n in ns) / _cells(ns)
        ),
        "these are the cells with padding as query and as key; one of the two is enough.": (
            lambda ns: sum((max(ns) - n) ** 2 for n in ns) / _cells(ns)
        ),
        "cells with padding as query and as key are counted twice.": (
            lambda ns: sum(2 * max(ns) * (max(ns) - n) for n in ns) / _cells(ns)
        ),
        "this is compared with one table; every sentence of the batch has its own.": (
            lambda ns: 1 - sum(n * n for n in ns) / max(ns) ** 2
        ),
        "these are the shares of the sentences, added up; take their mean.": (
            lambda ns: len(ns) * _wasted_pairs(ns)
        ),
        "this squares the sum of the lengths; add up the squares.": (
            lambda ns: 1 - sum(ns) ** 2 / (len(ns) * max(ns)) ** 2
        ),
        "the tables are as long as the longest sentence, not as the mean.": (
            lambda ns: 1 - sum(n * n for n in ns) * len(ns) / sum(ns) ** 2
        ),
        "`//` rounds this share to a whole number; write `/`.": (
            lambda ns: 1 - sum(n * n for n in ns) // _cells(ns)
        ),
        "these are the wasted positions squared; square each length, then compare.": (
            lambda ns: (1 - sum(ns) / (len(ns) * max(ns))) ** 2
        ),
        "these are the wasted positions per used one; the table has a cell for every pair.": (
            lambda ns: len(ns) * max(ns) / sum(ns) - 1
        ),
        "this is one table for all words of the batch; every sentence has its own.": (
            lambda ns: 1 - sum(n * n for n in ns) / sum(ns) ** 2
        ),
        "these are the shares of half tables, as under a causal mask; here all cells count.": (
            lambda ns: 1 - sum(n * (n + 1) for n in ns) / (len(ns) * max(ns) * (max(ns) + 1))
        ),
        "the cells of all sentences are compared with a whole batch squared.": (
            lambda ns: 1 - sum(n * n for n in ns) / (len(ns) * max(ns)) ** 2
        ),
        "cells with padding as query and as key are missing; they are wasted, too.": (
            lambda ns: sum(2 * n * (max(ns) - n) for n in ns) / _cells(ns)
        ),
        "these are wasted positions, compared with cells; count wasted cells.": (
            lambda ns: sum(max(ns) - n for n in ns) / _cells(ns)
        ),
        "the used cells are compared with positions; a table has the longest length squared.": (
            lambda ns: 1 - sum(n * n for n in ns) / (len(ns) * max(ns))
        ),
        "the words are compared with cells; n words use n² cells.": (
            lambda ns: 1 - sum(ns) / _cells(ns)
        ),
        "these are the shares of the sentences; one share of all cells is asked for.": (
            lambda ns: [1 - n * n / max(ns) ** 2 for n in ns]
        ),
        "the diagonal is left out; a word's pair with itself is a cell, too.": (
            lambda ns: 1 - sum(n * (n - 1) for n in ns) / (len(ns) * max(ns) * (max(ns) - 1))
        ),
        "the used cells lack the diagonal; a word's pair with itself is a cell, too.": (
            lambda ns: 1 - sum(n * (n - 1) for n in ns) / _cells(ns)
        ),
        "this is rounded to two decimals; leave it as it is.": (
            lambda ns: round(_wasted_pairs(ns), 2)
        ),
        "this is rounded to one decimal; leave it as it is.": (
            lambda ns: round(_wasted_pairs(ns), 1)
        ),
        "this squares the wasted positions of each sentence, and compares them with positions.": (
            lambda ns: sum((max(ns) - n) ** 2 for n in ns) / (len(ns) * max(ns)) ** 2
        ),
        "this is the share in the shortest sentence; the batch has all of them.": (
            lambda ns: 1 - min(ns) ** 2 / max(ns) ** 2
        ),
        "this is the mean of the sentences' shares of words, squared; square each first.": (
            lambda ns: (sum(ns) / (len(ns) * max(ns))) ** 2
        ),
    },
    cases=[([2, 4],), ([3, 5, 10],), ([7, 7, 7],), ([1, 6, 2, 3],)],
)

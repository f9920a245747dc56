"""Masking: where EOS is read."""

from transformer_workbook.judge.exercises import Exercise


def _kept_ends(lengths: list[int]) -> int:
    """In how many rows is an EOS left, once the last column is cut off?"""
    return sum(length < max(lengths) for length in lengths)


kept_ends = Exercise(
    reference=_kept_ends,
    given={
        "this is the number of the longest; those lose their EOS.": lambda n: n.count(max(n)),
        "this is the number of sentences; the longest lose their EOS.": len,
        "one sentence loses its EOS here; several may be the longest.": lambda n: len(n) - 1,
        "these are different lengths; sentences are asked for.": lambda n: len(set(n)) - 1,
        "one token less than the longest is enough to keep it.": (
            lambda n: sum(x < max(n) - 1 for x in n)
        ),
        "this is the number of the shortest; every sentence that is not the longest keeps it.": (
            lambda n: n.count(min(n)) if min(n) < max(n) else 0
        ),
        "the first sentence is compared with, not the longest.": (
            lambda n: sum(x < n[0] for x in n)
        ),
        "the last sentence is compared with, not the longest.": (
            lambda n: sum(x < n[-1] for x in n)
        ),
        "each sentence is compared with the one before it; the longest counts.": (
            lambda n: sum(x < y for x, y in zip(n[1:], n, strict=False))
        ),
        "each sentence is compared with the mean length; the longest counts.": (
            lambda n: sum(x < sum(n) / len(n) for x in n)
        ),
        "this is the number of PADs; the rows in which an EOS is left are asked for.": (
            lambda n: sum(max(n) - x for x in n)
        ),
        "this is the largest length; the rows in which an EOS is left are asked for.": max,
        "this is how much the lengths differ; rows are asked for.": lambda n: max(n) - min(n),
        "sentences that are one token shorter are counted alone; all shorter ones keep it.": (
            lambda n: n.count(max(n) - 1)
        ),
        "these are the lengths, added up; count the sentences.": (
            lambda n: sum(x for x in n if x < max(n))
        ),
    },
    cases=[
        ([3, 5, 5, 2, 3],),
        ([4, 4],),
        ([1, 6, 5, 6, 3, 2],),
        ([7],),
        ([9, 2, 8],),
        ([12, 3, 4, 10],),
    ],
)

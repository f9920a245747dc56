"""Translation: BLEU, by words."""

import math
from collections.abc import Callable, Sequence
from operator import truediv
from statistics import mean, median_low

from transformer_workbook.judge.exercises import Exercise

Counts = tuple[list[int], list[int], int, int]
"""Of one sentence: runs found and runs said, of each length; words said and words wanted."""


def _sums(lists: Sequence[list[int]]) -> list[int]:
    return [sum(numbers) for numbers in zip(*lists, strict=True)]


def _corpus_bleu(sentences: list[Counts]) -> float:
    """Compute BLEU for a corpus from the counts of its sentences."""
    matches, totals, said, wanted = zip(*sentences)  # noqa: B905 (strict would change nothing)
    precisions = list(map(truediv, _sums(matches), _sums(totals)))
    brevity = min(1.0, math.exp(1 - sum(wanted) / sum(said)))
    return 100 * brevity * math.pow(math.prod(precisions), 1 / len(precisions))


def _shares(rows: list[Counts]) -> list[float]:
    return list(map(truediv, _sums([row[0] for row in rows]), _sums([row[1] for row in rows])))


def _wrong_bleu(
    penalty: Callable[[int, int], float] = lambda c, r: min(1.0, math.exp(1 - r / c)),
    average: Callable[[list[float]], float] = lambda p: math.prod(p) ** (1 / len(p)),
    shares: Callable[[list[Counts]], list[float]] = _shares,
    scale: float = 100.0,
) -> Callable[[list[Counts]], float]:
    """BLEU with another penalty, mean or division."""

    def score(rows: list[Counts]) -> float:
        lengths = sum(row[2] for row in rows), sum(row[3] for row in rows)
        return scale * penalty(*lengths) * average(shares(rows))

    return score


def _mean_shares(rows: list[Counts]) -> list[float]:
    return [mean(column) for column in zip(*(map(truediv, *row[:2]) for row in rows), strict=True)]


def _plus_one(rows: list[Counts]) -> list[Counts]:
    return [([m + 1 for m in row[0]], [t + 1 for t in row[1]], *row[2:]) for row in rows]


def _each(rows: list[Counts]) -> list[float]:
    return [_corpus_bleu([row]) for row in rows]


corpus_bleu = Exercise(
    reference=_corpus_bleu,
    given={
        "this is the mean of the sentences' scores; add up the counts first, then score once.": (
            lambda rows: mean(_each(rows))
        ),
        "these are the sentences' scores, weighted by their words; add up the counts instead.": (
            lambda rows: (
                sum(s * row[2] for s, row in zip(_each(rows), rows, strict=True))
                / sum(row[2] for row in rows)
            )
        ),
        "each precision is a mean over the sentences; a long sentence has more runs.": (
            _wrong_bleu(shares=_mean_shares)
        ),
        "the brevity penalty is a mean over sentences; take it of the summed lengths, once.": (
            lambda rows: (
                _wrong_bleu(lambda c, r: 1)(rows)
                * mean(min(1.0, math.exp(1 - row[3] / row[2])) for row in rows)
            )
        ),
        "the brevity penalty is missing.": _wrong_bleu(lambda c, r: 1),
        "a corpus that is too long gets a reward: the penalty is at most 1.": (
            _wrong_bleu(lambda c, r: math.exp(1 - r / c))
        ),
        "the lengths are swapped in the penalty: long translations pay instead of short ones.": (
            _wrong_bleu(lambda c, r: min(1.0, math.exp(1 - c / r)))
        ),
        "the penalty is the quotient of the lengths; the exponential is missing.": (
            _wrong_bleu(lambda c, r: min(1.0, c / r))
        ),
        "this is the arithmetic mean of the precisions; the geometric one is asked for.": (
            _wrong_bleu(average=mean)
        ),
        "this is the product of the precisions; take the root, too.": (
            _wrong_bleu(average=math.prod)
        ),
        "the root is always the fourth; it is that of the number of lengths.": (
            _wrong_bleu(average=lambda p: math.prod(p) ** 0.25)
        ),
        "the counts of all lengths are added before the division; each length has its precision.": (
            _wrong_bleu(
                shares=lambda rows: [sum(sum(r[0]) for r in rows) / sum(sum(r[1]) for r in rows)]
            )
        ),
        "sentences with a 0 are left out of the mean; add up the counts instead.": (
            lambda rows: mean(_each([row for row in rows if min(row[0]) > 0]))
        ),
        "1 is added to every count, and the scores averaged; add up the counts instead.": (
            lambda rows: mean(_each(_plus_one(rows)))
        ),
        "1 is added to every count; sums of counts need no smoothing.": (
            lambda rows: _corpus_bleu(_plus_one(rows))
        ),
        "the penalty is at least 1 here; it is at most 1.": (
            _wrong_bleu(lambda c, r: max(1.0, math.exp(1 - r / c)))
        ),
        "the exponent of the penalty has the wrong sign.": (
            _wrong_bleu(lambda c, r: min(1.0, math.exp(r / c - 1)))
        ),
        "the penalty lacks its 1: it is e to the power of 1 − wanted/said.": (
            _wrong_bleu(lambda c, r: min(1.0, math.exp(-r / c)))
        ),
        "the product of the precisions is divided by their number; take the root.": (
            _wrong_bleu(average=lambda p: math.prod(p) / len(p))
        ),
        "only the precision of single words counts; all lengths do.": (
            _wrong_bleu(average=lambda p: p[0])
        ),
        "only the precision of the longest runs counts; all lengths do.": (
            _wrong_bleu(average=lambda p: p[-1])
        ),
        "the best sentence's score stands for all; add up the counts.": (
            lambda rows: max(_each(rows))
        ),
        "this is a share; BLEU is written on a scale up to 100.": _wrong_bleu(scale=1.0),
        "this is the median of the sentences' scores; add up the counts.": (
            lambda rows: median_low(_each(rows))
        ),
        "this is the score of the last sentence only.": lambda rows: _each(rows)[-1],
        "this is the score of the first sentence only.": lambda rows: _each(rows)[0],
        "this is the sum of the sentences' scores; add up the counts.": lambda rows: sum(
            _each(rows)
        ),
        "this is the geometric mean of the sentences' scores; add up the counts.": (
            lambda rows: math.prod(_each(rows)) ** (1 / len(rows))
        ),
        "these are the sentences' scores, weighted by the reference's words; add up the counts.": (
            lambda rows: (
                sum(s * row[3] for s, row in zip(_each(rows), rows, strict=True))
                / sum(row[3] for row in rows)
            )
        ),
        "this is the harmonic mean of the precisions; the geometric one is asked for.": (
            _wrong_bleu(average=lambda p: len(p) / sum(1 / x for x in p) if all(p) else 0.0)
        ),
        "the longest runs are left out; all lengths count.": (
            _wrong_bleu(average=lambda p: math.prod(p[:-1]) ** (1 / (len(p) - 1)))
        ),
        "the brevity penalty is under the root, too; it stands before it.": (
            lambda rows: (
                _corpus_bleu(rows)
                * _wrong_bleu(scale=1.0, average=lambda p: 1.0)(rows) ** (1 / len(rows[0][0]) - 1)
            )
        ),
        "the brevity penalty counts twice.": (
            lambda rows: _corpus_bleu(rows) * _wrong_bleu(scale=1.0, average=lambda p: 1.0)(rows)
        ),
        "this is divided by the number of sentences; the summed counts have one score.": (
            lambda rows: _corpus_bleu(rows) / len(rows)
        ),
    },
    cases=[
        ([([8, 6, 4, 2], [9, 8, 7, 6], 9, 9), ([3, 2, 1, 0], [5, 4, 3, 2], 5, 8)],),
        (
            [
                ([12, 9, 7, 5], [14, 13, 12, 11], 14, 9),
                ([4, 2, 1, 1], [6, 5, 4, 3], 6, 7),
                ([9, 7, 5, 3], [9, 8, 7, 6], 9, 10),
            ],
        ),
        ([([5, 3], [7, 6], 7, 9), ([6, 5], [6, 5], 6, 6), ([2, 1], [8, 7], 8, 11)],),
    ],
)

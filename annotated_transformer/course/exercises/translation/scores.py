"""Translation: scores of a corpus and of a sentence, by words and by characters."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, pairwise
from operator import truediv
from statistics import mean, median_low
from typing import Any

from sacrebleu.metrics.chrf import CHRF

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.questions import Question, by_number

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


def _each(rows: list[Counts]) -> list[float]:
    return [_corpus_bleu([row]) for row in rows]


corpus_bleu = Exercise(
    reference=_corpus_bleu,
    mistakes={
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
        "this is a share; BLEU is written on a scale up to 100.": _wrong_bleu(scale=1.0),
        "this is the median of the sentences' scores; add up the counts.": (
            lambda rows: median_low(_each(rows))
        ),
        "this is the score of the last sentence only.": lambda rows: _each(rows)[-1],
        "this is the score of the first sentence only.": lambda rows: _each(rows)[0],
        "this is the sum of the sentences' scores; add up the counts.": lambda rows: sum(
            _each(rows)
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


def _score_with_wrong(wrong: Sequence[int], words: int = 20) -> float:
    """The BLEU of a sentence of different words, of which some are wrong."""
    gaps = [b - a - 1 for a, b in pairwise([-1, *wrong, words])]
    runs = [sum(max(0, gap - n + 1) for gap in gaps) for n in (1, 2, 3, 4)]
    return 100 * math.prod(run / (words - n) for n, run in enumerate(runs)) ** (1 / 4)


@cache
def _widest() -> float:
    scores = [_score_with_wrong(wrong) for wrong in combinations(range(20), 5)]
    return max(scores) - min(scores)


@Question
def five_wrong_words(answer: Any) -> str:
    """How far apart are the best and the worst BLEU with five wrong words of twenty?"""
    return by_number(
        answer,
        _widest(),
        {
            _score_with_wrong(
                range(8, 13)
            ): "with the wrong words in the middle; is there no better place?",
            _widest() / 100: "this is a share; BLEU goes up to 100.",
            75: "this is the share of right words; BLEU also counts pairs, triples and fours.",
            0: "the place of an error matters: compare five in a row with five far apart.",
        },
        within=0.01,
    )


def _chrf(said: str, wanted: str) -> float:
    """Score a sentence by its runs of one to six characters."""
    return CHRF().sentence_score(said, [wanted]).score


def _characters(text: str, n: int, spaces: bool = False) -> Counter[str]:
    text = text if spaces else "".join(text.split())
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def _f(p: float, r: float, beta: float) -> float:
    return (1 + beta**2) * p * r / (beta**2 * p + r)


def _wrong_chrf(
    beta: float = 2.0,
    orders: Sequence[int] = range(1, 7),
    spaces: bool = False,
    clip: bool = True,
    scale: float = 100.0,
    turn: Callable[[str], str] = str,
    join: Callable[[list[float], list[float], float], float] = lambda p, r, beta: _f(
        mean(p), mean(r), beta
    ),
) -> Callable[[str, str], float]:
    """chrF with another weight, other runs, or another mean."""

    def score(said: str, wanted: str) -> float:
        precision, recall = [], []
        for n in orders:
            ours = _characters(turn(said), n, spaces)
            theirs = _characters(turn(wanted), n, spaces)
            hits = (ours & theirs).total()
            if not clip:
                hits = sum(count for run, count in ours.items() if run in theirs)
            precision.append(hits / ours.total())
            recall.append(hits / theirs.total())
        return scale * join(precision, recall, beta)

    return score


chrf = Exercise(
    reference=_chrf,
    mistakes={
        "the runs contain spaces; take them out first.": _wrong_chrf(spaces=True),
        "β is 1 here: precision and recall count alike; recall counts for more.": _wrong_chrf(1.0),
        "precision and recall are swapped: the recall has the larger weight.": _wrong_chrf(1 / 2),
        "β is not squared; β² = 4 stands in the formula.": _wrong_chrf(math.sqrt(2)),
        "only runs of six are counted; average over the lengths 1 to 6.": _wrong_chrf(orders=[6]),
        "the lengths end at 5; `range(1, 6)` leaves out 6.": _wrong_chrf(orders=range(1, 6)),
        "the lengths end at 4, as in BLEU; chrF goes to 6.": _wrong_chrf(orders=range(1, 5)),
        "nothing is clipped: a run counts at most as often as the other text has it.": (
            _wrong_chrf(clip=False)
        ),
        "this is a share; multiply it by 100.": _wrong_chrf(scale=1.0),
        "this is the mean of six F-scores; average the precisions and the recalls first.": (
            _wrong_chrf(
                join=lambda p, r, b: mean(
                    _f(x, y, b) if x else 0.0 for x, y in zip(p, r, strict=True)
                )
            )
        ),
        "this is the precision alone; the recall is missing.": (
            _wrong_chrf(join=lambda p, r, b: mean(p))
        ),
        "this is the recall alone; the precision is missing.": (
            _wrong_chrf(join=lambda p, r, b: mean(r))
        ),
        "the factor 1 + β² is missing.": (
            _wrong_chrf(join=lambda p, r, b: _f(mean(p), mean(r), b) / (1 + b**2))
        ),
        "these are geometric means; the arithmetic mean of the six is asked for.": (
            _wrong_chrf(
                join=lambda p, r, b: (
                    _f(math.prod(p) ** (1 / 6), math.prod(r) ** (1 / 6), b) if all(p) else 0.0
                )
            )
        ),
        "the case is lost; a capital is another character.": _wrong_chrf(turn=str.lower),
    },
    cases=[
        ("a brown dog runs over the meadow", "A brown dog ran across a meadow"),
        ("The the children sing", "The children are singing here"),
        ("two women talk on a bench in the park", "Two women talk"),
    ],
)

"""Translation: the parts of BLEU."""

import math
from collections import Counter
from collections.abc import Sequence
from operator import truediv

from annotated_transformer.course.checking import Exercise

Words = list[str]


def _ngrams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def _clipped_precision(said: Words, wanted: Words, n: int) -> float:
    ours, theirs = _ngrams(said, n), _ngrams(wanted, n)
    return (ours & theirs).total() / ours.total()


def _known(said: Words, wanted: Words, n: int) -> int:
    theirs = _ngrams(wanted, n)
    return sum(count for ngram, count in _ngrams(said, n).items() if ngram in theirs)


A = ["der", "hund", "und", "der", "ball"]
B = ["der", "hund", "und", "die", "katze", "und", "der", "hund"]
C = ["ein", "hund", "springt", "und", "ein", "hund", "rennt", "und", "ein", "hund", "springt"]
D = ["ein", "hund", "springt", "und", "rennt", "und", "springt", "in", "den", "see"]

clipped_precision = Exercise(
    reference=_clipped_precision,
    mistakes={
        "you do not clip: a run counts at most as often as the reference has it.": (
            lambda x, y, n: _known(x, y, n) / (len(x) - n + 1)
        ),
        "you count each run once, however often it is said.": (
            lambda x, y, n: len(_ngrams(x, n).keys() & _ngrams(y, n).keys()) / len(_ngrams(x, n))
        ),
        "you divide by the runs of the reference: that is recall, not precision.": (
            lambda x, y, n: (_ngrams(x, n) & _ngrams(y, n)).total() / _ngrams(y, n).total()
        ),
        "these are single words, whatever n is.": lambda x, y, n: _clipped_precision(x, y, 1),
        "you take runs of every length up to n; only length n is asked for.": (
            lambda x, y, n: (
                sum((_ngrams(x, i) & _ngrams(y, i)).total() for i in range(1, n + 1))
                / sum(_ngrams(x, i).total() for i in range(1, n + 1))
            )
        ),
        "you divide by the number of words; a sentence has n − 1 fewer runs than words.": (
            lambda x, y, n: (_ngrams(x, n) & _ngrams(y, n)).total() / len(x)
        ),
        "this is how many runs are found; divide by how many there are.": (
            lambda x, y, n: (_ngrams(x, n) & _ngrams(y, n)).total()
        ),
        "you compare place by place; a run may stand anywhere in the reference.": (
            lambda x, y, n: (
                sum(x[i : i + n] == y[i : i + n] for i in range(len(x) - n + 1)) / (len(x) - n + 1)
            )
        ),
    },
    cases=[(A, B, 1), (B, A, 1), (B, A, 2), (C, D, 2), (D, C, 1), (C, D, 3), (B, B, 4)],
)


def _brevity_penalty(said: int, wanted: int) -> float:
    return min(1.0, math.exp(1 - wanted / said))


brevity_penalty = Exercise(
    reference=_brevity_penalty,
    mistakes={
        "this is the quotient of the lengths; the exponential is missing.": (
            lambda c, r: min(1.0, c / r)
        ),
        "a translation that is too long gets no reward: the factor is at most 1.": (
            lambda c, r: math.exp(1 - r / c)
        ),
        "you punish long translations, too: the precisions have done that already.": (
            lambda c, r: math.exp(-abs(1 - r / c))
        ),
        "the quotient is turned round: you punish the long ones instead of the short.": (
            lambda c, r: min(1.0, math.exp(1 - c / r))
        ),
        "the 1 is missing: a translation of the right length must keep its score.": (
            lambda c, r: math.exp(-r / c)
        ),
        "this is the exponent; take e to the power of it.": lambda c, r: min(0.0, 1 - r / c),
        "you give every translation the factor 1.": lambda c, r: 1.0,
    },
    cases=[(10, 12), (12, 10), (9, 9), (4, 8), (120, 125)],
)


def _bleu(matches: list[int], totals: list[int], said: int, wanted: int) -> float:
    brevity = min(1.0, math.exp(1 - wanted / said))
    return 100 * brevity * math.pow(math.prod(map(truediv, matches, totals)), 1 / len(matches))


def _precisions(matches: Sequence[int], totals: Sequence[int]) -> list[float]:
    return list(map(truediv, matches, totals))


bleu_score = Exercise(
    reference=_bleu,
    mistakes={
        "you take the arithmetic mean of the precisions; it is the geometric one.": (
            lambda m, t, c, r: 100 * _brevity_penalty(c, r) * sum(_precisions(m, t)) / len(m)
        ),
        "the brevity penalty is missing.": (
            lambda m, t, c, r: 100 * math.prod(_precisions(m, t)) ** (1 / len(m))
        ),
        "you multiply the precisions; take the root of the product, too.": (
            lambda m, t, c, r: 100 * _brevity_penalty(c, r) * math.prod(_precisions(m, t))
        ),
        "this is a share; BLEU is written on a scale up to 100.": (
            lambda m, t, c, r: _bleu(m, t, c, r) / 100
        ),
        "you add the counts of all lengths before you divide; each length has its precision.": (
            lambda m, t, c, r: 100 * _brevity_penalty(c, r) * sum(m) / sum(t)
        ),
        "the brevity penalty stands under the root; it belongs before it.": (
            lambda m, t, c, r: (
                100 * (_brevity_penalty(c, r) * math.prod(_precisions(m, t))) ** (1 / len(m))
            )
        ),
        "the penalty grows with long translations; it is at most 1.": (
            lambda m, t, c, r: (
                100 * math.exp(1 - r / c) * math.prod(_precisions(m, t)) ** (1 / len(m))
            )
        ),
        "this is the precision of the longest runs alone.": (
            lambda m, t, c, r: 100 * _brevity_penalty(c, r) * m[-1] / t[-1]
        ),
        "you always take the fourth root; the root is that of the number of lengths.": (
            lambda m, t, c, r: (
                100 * _brevity_penalty(c, r) * math.prod(_precisions(m, t)) ** (1 / 4)
            )
        ),
        "a share of 0 has no logarithm; the score is 0 then.": (
            lambda m, t, c, r: (
                100
                * _brevity_penalty(c, r)
                * math.exp(sum(map(math.log, _precisions(m, t))) / len(m))
            )
        ),
        "you add 1 to the counts; without smoothing, no run of four found means 0.": (
            lambda m, t, c, r: _bleu([x + 1 for x in m], [x + 1 for x in t], c, r)
        ),
    },
    cases=[
        ([8, 6, 4, 2], [9, 8, 7, 6], 9, 9),
        ([7, 5, 3, 1], [8, 7, 6, 5], 8, 11),
        ([9, 5, 2, 0], [12, 11, 10, 9], 12, 10),
        ([6, 4], [7, 6], 7, 6),
        ([30, 20, 12, 7], [40, 37, 34, 31], 40, 42),
    ],
)

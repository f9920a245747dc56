"""Translation: chrF, a score by characters."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import mean

from sacrebleu.metrics.chrf import CHRF

from transformer_workbook.judge.exercises import Exercise


def _chrf(said: str, wanted: str) -> float:
    """Score a sentence by its runs of one to six characters."""
    return CHRF().sentence_score(said, [wanted]).score


def _characters(text: str, n: int, spaces: bool = False) -> Counter[str]:
    text = text if spaces else "".join(text.split())
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def _f(p: float, r: float, beta: float) -> float:
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p else 0.0


def _wrong_chrf(
    beta: float = 2.0,
    orders: Sequence[int] = range(1, 7),
    spaces: bool = False,
    clip: bool = True,
    once: bool = False,
    last: int = 0,
    pooled: bool = False,
    scale: float = 100.0,
    turn: Callable[[str], str] = str,
    join: Callable[[list[float], list[float], float], float] = lambda p, r, beta: _f(
        mean(p), mean(r), beta
    ),
) -> Callable[[str, str], float]:
    """chrF with another weight, other runs, or another mean."""

    def score(said: str, wanted: str) -> float:
        found, said_runs, wanted_runs = [], [], []
        for n in orders:
            ours = _characters(turn(said), n, spaces)
            theirs = _characters(turn(wanted), n, spaces)
            if last:
                ours, theirs = (
                    _characters(turn(t).rstrip(), n, spaces)
                    - Counter(["".join(turn(t).split())[-n:]])
                    for t in (said, wanted)
                )
            if once:
                ours, theirs = Counter(set(ours)), Counter(set(theirs))
            hits = (ours & theirs).total()
            if not clip:
                hits = sum(count for run, count in ours.items() if run in theirs)
            found.append(hits)
            said_runs.append(ours.total())
            wanted_runs.append(theirs.total())
        if pooled:
            found, said_runs, wanted_runs = (
                [sum(runs)] for runs in (found, said_runs, wanted_runs)
            )
        precision = [hits / runs for hits, runs in zip(found, said_runs, strict=True)]
        recall = [hits / runs for hits, runs in zip(found, wanted_runs, strict=True)]
        return scale * join(precision, recall, beta)

    return score


def _by_words(said: str, wanted: str) -> float:
    """The same with words for characters."""
    precision, recall = [], []
    for n in range(1, 7):
        ours, theirs = (
            Counter(zip(*(text.split()[i:] for i in range(n)), strict=False))
            for text in (said, wanted)
        )
        hits = (ours & theirs).total()
        precision.append(hits / max(1, ours.total()))
        recall.append(hits / max(1, theirs.total()))
    return 100 * _f(mean(precision), mean(recall), 2.0)


chrf = Exercise(
    reference=_chrf,
    given={
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
        "this is one share of the runs of all lengths; each length has its own.": (
            _wrong_chrf(pooled=True)
        ),
        "the last run of each length is missing: there are len − n + 1.": _wrong_chrf(last=1),
        "each different run counts once; a run counts as often as it stands there.": (
            _wrong_chrf(once=True)
        ),
        "single characters are left out; the lengths begin at 1.": (
            _wrong_chrf(orders=range(2, 7))
        ),
        "the lengths begin at 0: an empty run is none.": _wrong_chrf(orders=range(6)),
        "the lengths go from 0 to 6; an empty run is none.": _wrong_chrf(orders=range(7)),
        "the lengths go on to 7; chrF ends at 6.": _wrong_chrf(orders=range(1, 8)),
        "only single characters are counted; average over the lengths 1 to 6.": (
            _wrong_chrf(orders=[1])
        ),
        "β is 3 here; it is 2.": _wrong_chrf(3.0),
        "β² is squared again: 16 stands for 4.": _wrong_chrf(4.0),
        "this is the arithmetic mean of precision and recall; the formula is harmonic.": (
            _wrong_chrf(join=lambda p, r, b: (mean(p) + mean(r)) / 2)
        ),
        "this is the product of precision and recall.": (
            _wrong_chrf(join=lambda p, r, b: mean(p) * mean(r))
        ),
        "1 + β stands above; it is 1 + β².": (
            _wrong_chrf(join=lambda p, r, b: _f(mean(p), mean(r), b) * (1 + b) / (1 + b**2))
        ),
        "β stands below; it is β².": (
            _wrong_chrf(join=lambda p, r, b: _f(mean(p), mean(r), b**0.5) * (1 + b**2) / (1 + b))
        ),
        "this is a share; multiply it by 100.": _wrong_chrf(scale=1.0),
        "this is the mean of six F-scores; average the precisions and the recalls first.": (
            _wrong_chrf(join=lambda p, r, b: mean(_f(x, y, b) for x, y in zip(p, r, strict=True)))
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
                join=lambda p, r, b: _f(math.prod(p) ** (1 / 6), math.prod(r) ** (1 / 6), b)
            )
        ),
        "the case is lost; a capital is another character.": _wrong_chrf(turn=str.lower),
        "where no run is found, this divides by 0; the score is 0 there.": (
            _wrong_chrf(join=lambda p, r, b: 5 * mean(p) * mean(r) / (4 * mean(p) + mean(r)))
        ),
        "these are runs of words; chrF counts runs of characters.": _by_words,
        "the lengths 1 to 6 are added, not averaged.": (
            _wrong_chrf(join=lambda p, r, b: _f(sum(p), sum(r), b))
        ),
        "1 − β² stands above; it is 1 + β².": (
            _wrong_chrf(join=lambda p, r, b: _f(mean(p), mean(r), b) * (1 - b**2) / (1 + b**2))
        ),
        "β² multiplies precision and recall below; it multiplies the precision alone.": (
            _wrong_chrf(join=lambda p, r, b: _f(mean(p), mean(r), 1.0) * (1 + b**2) / (2 * b**2))
        ),
        "2 stands above in place of 1 + β².": (
            _wrong_chrf(join=lambda p, r, b: _f(mean(p), mean(r), b) * 2 / (1 + b**2))
        ),
    },
    cases=[
        ("a brown dog runs over the meadow", "A brown dog ran across a meadow"),
        ("The the children sing", "The children are singing here"),
        ("two women talk on a bench in the park", "Two women talk"),
        ("quietly", "snowman"),
    ],
)

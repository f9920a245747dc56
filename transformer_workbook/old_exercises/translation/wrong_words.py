"""Translation: BLEU, with wrong words at different places."""

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations, pairwise
from statistics import fmean
from typing import Any

from transformer_workbook.judge.comparing import is_number
from transformer_workbook.old_exercises.old_question import Question, by_number


def _shares(wrong: Sequence[int], words: int = 20) -> list[float]:
    """The four precisions of a sentence of different words, of which some are wrong."""
    gaps = [b - a - 1 for a, b in pairwise([-1, *wrong, words])]
    runs = [sum(max(0, gap - n + 1) for gap in gaps) for n in (1, 2, 3, 4)]
    return [run / (words - n) for n, run in enumerate(runs)]


def _score_with_wrong(wrong: Sequence[int]) -> float:
    """Their BLEU."""
    return 100 * math.prod(_shares(wrong)) ** (1 / 4)


@cache
def _widest() -> float:
    scores = [_score_with_wrong(wrong) for wrong in combinations(range(20), 5)]
    return max(scores) - min(scores)


@Question
def five_wrong_words(answer: Any) -> str:
    """How far apart are the best and the worst BLEU with five wrong words of twenty?"""
    arithmetic = 100 * fmean(_shares(range(5)))
    if is_number(answer) and abs(float(answer) - arithmetic) < 0.005:  # so near is the right one
        return "this is the arithmetic mean of the four precisions; BLEU takes the geometric one."
    return by_number(
        answer,
        _widest(),
        {
            _score_with_wrong(
                range(8, 13)
            ): "with the wrong words in the middle; is there no better place?",
            -_widest(): "this is the lowest minus the highest.",
            100: "this compares with a perfect translation; five words are always wrong.",
            100 - _widest(): "this is how far the highest is from 100; compare it with the lowest.",
            25: "this is the share of wrong words; BLEU also counts pairs, triples and fours.",
            _score_with_wrong(range(8, 13)) / 100: "this is a share, with the middle words wrong.",
            56.25: "near the square of the share of right words; some places give more: try all.",
            31.64: "this is 0.75⁴: the runs of four are not the fourth power of the words.",
            _widest() / 100: "this is a share; BLEU goes up to 100.",
            75: "this is the share of right words; BLEU also counts pairs, triples and fours.",
            0: "the place of an error matters: compare five in a row with five far apart.",
        },
        within=0.01,
    )

"""Translation: numbers that may be compared, and numbers that may not."""

import math
from collections.abc import Sequence
from operator import truediv
from typing import Any

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.translation.bleu import (
    _bleu,
    _brevity_penalty,
)

Counts = tuple[list[int], list[int], int, int]
"""Of one sentence: runs found and runs said, of each length; words said and words wanted."""


def _sums(lists: Sequence[list[int]]) -> list[int]:
    return [sum(numbers) for numbers in zip(*lists, strict=True)]


def _corpus_bleu(sentences: list[Counts]) -> float:
    matches, totals, said, wanted = zip(*sentences)  # noqa: B905 (strict would change nothing)
    precisions = list(map(truediv, _sums(matches), _sums(totals)))
    brevity = min(1.0, math.exp(1 - sum(wanted) / sum(said)))
    return 100 * brevity * math.pow(math.prod(precisions), 1 / len(precisions))


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _precision(sentences: list[Counts]) -> float:
    return _bleu(_sums([s[0] for s in sentences]), _sums([s[1] for s in sentences]), 1, 1)


def _mean_precisions(sentences: list[Counts]) -> float:
    shares = [list(map(truediv, *s[:2])) for s in sentences]
    means = [_mean(column) for column in zip(*shares, strict=True)]
    penalty = _brevity_penalty(sum(s[2] for s in sentences), sum(s[3] for s in sentences))
    return 100 * penalty * math.prod(means) ** (1 / len(means))


corpus_bleu = Exercise(
    reference=_corpus_bleu,
    mistakes={
        "this is the mean of the sentences' scores; add up the counts first, then score once.": (
            lambda rows: _mean([_bleu(*row) for row in rows])
        ),
        "you weight the sentences' scores by their words; add up the counts instead.": (
            lambda rows: sum(_bleu(*row) * row[2] for row in rows) / sum(row[2] for row in rows)
        ),
        "you average each precision over the sentences; a long sentence has more runs.": (
            _mean_precisions
        ),
        "the brevity penalty is a mean over sentences; take it of the summed lengths, once.": (
            lambda rows: _precision(rows) * _mean([_brevity_penalty(*row[2:]) for row in rows])
        ),
        "the brevity penalty is missing.": _precision,
        "this is the median of the sentences' scores; add up the counts.": (
            lambda rows: sorted(_bleu(*row) for row in rows)[(len(rows) - 1) // 2]
        ),
        "this is the score of the last sentence only.": lambda rows: _bleu(*rows[-1]),
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


def _perplexity_per_word(perplexity: float, tokens: int, words: int) -> float:
    return float(perplexity ** (tokens / words))


perplexity_per_word = Exercise(
    reference=_perplexity_per_word,
    mistakes={
        "you stretch the perplexity itself; the surprise is what is shared among the words.": (
            lambda p, tokens, words: p * tokens / words
        ),
        "the quotient is turned round: a word has more tokens, so it surprises more.": (
            lambda p, tokens, words: p ** (words / tokens)
        ),
        "this is still the perplexity per token.": lambda p, tokens, words: p,
        "this is the surprise per word; the perplexity is e to the power of it.": (
            lambda p, tokens, words: math.log(p) * tokens / words
        ),
        "this is the surprise of the whole text; divide by the words before the exponential.": (
            lambda p, tokens, words: math.log(p) * tokens
        ),
        "you take the perplexity for the surprise, which is its logarithm.": (
            lambda p, tokens, words: math.exp(p * tokens / words)
        ),
        "the surprise is a natural logarithm: take powers of e, not of 2.": (
            lambda p, tokens, words: 2 ** (math.log(p) * tokens / words)
        ),
        "you divide the perplexity; the surprise is what is shared among the words.": (
            lambda p, tokens, words: p * words / tokens
        ),
    },
    cases=[(5.0, 30, 20), (8.0, 16, 12), (2.5, 9, 9), (12.0, 40, 25)],
)

SAME = {"tokenizer": "joint 5000", "test": "2016", "signature": "13a, cased"}
PLAIN = SAME | {"trials": 4, "minutes": 10, "chosen_on": "val"}


def _unfair_in(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    equal = ["minutes", "signature", "test", "tokenizer", "trials"]
    found = [name for name in equal if first[name] != second[name]]
    if "test" in (first["chosen_on"], second["chosen_on"]):
        found.append("chosen_on")
    return sorted(found)


def _differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    return sorted(name for name in first if first[name] != second[name])


unfair_in = Exercise(
    reference=_unfair_in,
    mistakes={
        "you name all that differs; models may differ in parameters and steps.": _differences,
        "settings that were chosen on the test split spoil it, even if both did so.": (
            lambda a, b: [
                n for n in _differences(a, b) if n not in ("model", "parameters", "steps")
            ]
        ),
        "you forget the signature: scores of different kinds cannot be compared.": (
            lambda a, b: [n for n in _unfair_in(a, b) if n != "signature"]
        ),
        "you forget the trials: whoever tries more finds better settings.": (
            lambda a, b: [n for n in _unfair_in(a, b) if n != "trials"]
        ),
        "you do not see that settings were chosen on the test split; chosen_on is 'test' then.": (
            lambda a, b: [n for n in _unfair_in(a, b) if n != "chosen_on"]
        ),
        "you want equal steps; our rule is equal time, and one step may cost more.": (
            lambda a, b: sorted(_unfair_in(a, b) + ["steps"] * (a["steps"] != b["steps"]))
        ),
        "you say whether it is unfair; the list of reasons is asked for.": (
            lambda a, b: bool(_unfair_in(a, b))
        ),
        "you let unequal minutes pass.": (
            lambda a, b: [n for n in _unfair_in(a, b) if n != "minutes"]
        ),
    },
    cases=[
        (
            PLAIN | {"model": "luong", "parameters": 9, "steps": 600},
            PLAIN | {"model": "transformer", "parameters": 6, "steps": 550},
        ),
        (
            PLAIN | {"model": "gru", "parameters": 8, "steps": 600, "trials": 1, "minutes": 5},
            PLAIN | {"model": "transformer", "parameters": 6, "steps": 600, "chosen_on": "test"},
        ),
        (
            PLAIN | {"model": "luong", "parameters": 9, "steps": 600, "chosen_on": "test"},
            PLAIN
            | {"model": "luong", "parameters": 9, "steps": 650, "chosen_on": "test"}
            | {"signature": "none, lower-cased"},
        ),
        (
            PLAIN | {"model": "gru", "parameters": 8, "steps": 600, "tokenizer": "words"},
            PLAIN | {"model": "bahdanau", "parameters": 9, "steps": 400, "test": "2017"},
        ),
    ],
)

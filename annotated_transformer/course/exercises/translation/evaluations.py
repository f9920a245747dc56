"""Translation: numbers that may be compared, and numbers that may not."""

import math
from collections.abc import Callable
from typing import Any

from annotated_transformer.course.checking import Derivation, Exercise


def _perplexity_per_word(
    perplexity: float, tokens: int, words: int
) -> tuple[float, float, float, float]:
    """Go from the perplexity per subword to the perplexity per word, in four steps."""
    token = math.log(perplexity)
    text = token * tokens
    word = text / words
    return token, text, word, math.exp(word)


perplexity_per_word = Derivation(
    reference=_perplexity_per_word,
    mistakes={
        "the logarithms are to the base 2; the loss is a natural logarithm.": (
            lambda p, tokens, words: (
                math.log2(p),
                math.log2(p) * tokens,
                math.log2(p) * tokens / words,
                p ** (tokens / words),
            )
        ),
        "subwords and words are swapped from step 2 on: the text has as many losses as subwords.": (
            lambda p, tokens, words: _perplexity_per_word(p, words, tokens)
        ),
    },
    cases=[(5.0, 30, 20), (8.0, 16, 12), (2.5, 9, 8), (12.0, 40, 25)],
)

SAME = {"tokenizer": "joint 5000", "test": "2016", "signature": "13a, cased"}
PLAIN = SAME | {"trials": 4, "minutes": 10, "chosen_on": "val"}
LUONG = PLAIN | {"model": "luong", "parameters": 9, "steps": 600}
TRANSFORMER = PLAIN | {"model": "transformer", "parameters": 6, "steps": 550}

Result = dict[str, Any]
FREE = ("model", "parameters", "steps")


def _unfair_in(first: Result, second: Result) -> list[str]:
    """List what makes the comparison of two results unfair."""
    equal = ["minutes", "signature", "test", "tokenizer", "trials"]
    found = [name for name in equal if first[name] != second[name]]
    if "test" in (first["chosen_on"], second["chosen_on"]):
        found.append("chosen_on")
    return sorted(found)


def _differences(first: Result, second: Result) -> list[str]:
    return sorted(name for name in first if first[name] != second[name])


def _without(*names: str) -> Callable[[Result, Result], list[str]]:
    """The objections but some."""
    return lambda a, b: [name for name in _unfair_in(a, b) if name not in names]


unfair_in = Exercise(
    reference=_unfair_in,
    mistakes={
        "this is all that differs; models, parameters and steps may.": _differences,
        "settings that were chosen on the test split spoil it, even if both did so.": (
            lambda a, b: [n for n in _differences(a, b) if n not in FREE]
        ),
        "two results chosen on the test split are unfair, but so is one alone.": (
            lambda a, b: sorted(
                _without("chosen_on")(a, b)
                + ["chosen_on"] * (a["chosen_on"] == b["chosen_on"] == "test")
            )
        ),
        "only the first result's chosen_on is looked at.": (
            lambda a, b: _unfair_in(a, b | {"chosen_on": a["chosen_on"]})
        ),
        "only the second result's chosen_on is looked at.": (
            lambda a, b: _unfair_in(a | {"chosen_on": b["chosen_on"]}, b)
        ),
        "the signature is missing: scores of different kinds cannot be compared.": (
            _without("signature")
        ),
        "the trials are missing: whoever tries more finds better settings.": _without("trials"),
        "the minutes are missing: equal time is the rule.": _without("minutes"),
        "the tokenizer is missing.": _without("tokenizer"),
        "the test sentences are missing.": _without("test"),
        "chosen_on is missing; it may not be 'test' on either side.": _without("chosen_on"),
        "the steps may differ: the rule is equal time, and one step may cost more.": (
            lambda a, b: sorted(_unfair_in(a, b) + ["steps"] * (a["steps"] != b["steps"]))
        ),
        "this says whether it is unfair; the list of reasons is asked for.": (
            lambda a, b: bool(_unfair_in(a, b))
        ),
        "this is how many reasons there are; their list is asked for.": (
            lambda a, b: len(_unfair_in(a, b))
        ),
        "this is the first reason only; all are asked for.": lambda a, b: _unfair_in(a, b)[:1],
        "the right reasons, but not in alphabetical order.": (lambda a, b: _unfair_in(a, b)[::-1]),
        "these are the keys that are in order; those that are not are asked for.": (
            lambda a, b: sorted(set(a) - set(_unfair_in(a, b)))
        ),
    },
    cases=[
        (LUONG, TRANSFORMER),
        (LUONG | {"trials": 1, "minutes": 5}, TRANSFORMER | {"chosen_on": "test"}),
        (LUONG | {"chosen_on": "test"}, TRANSFORMER | {"signature": "none, lower-cased"}),
        (LUONG | {"chosen_on": "test"}, TRANSFORMER | {"chosen_on": "test"}),
        (LUONG | {"tokenizer": "words"}, TRANSFORMER | {"test": "2017"}),
    ],
)

"""Translation: which results may be compared."""

from collections.abc import Callable
from typing import Any

from transformer_workbook.judge.exercises import Exercise

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


def _with(*names: str) -> Callable[[Result, Result], list[str]]:
    """The objections and some that are none."""
    return lambda a, b: sorted(_unfair_in(a, b) + [name for name in names if a[name] != b[name]])


unfair_in = Exercise(
    reference=_unfair_in,
    given={
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
        "minutes and trials are missing where the second has more; both sides count.": (
            lambda a, b: [
                n for n in _unfair_in(a, b) if n not in ("minutes", "trials") or a[n] > b[n]
            ]
        ),
        "minutes and trials are missing where the first has more; both sides count.": (
            lambda a, b: [
                n for n in _unfair_in(a, b) if n not in ("minutes", "trials") or a[n] < b[n]
            ]
        ),
        "the parameters may differ.": _with("parameters"),
        "the models may differ.": _with("model"),
        "models and parameters may differ.": _with("model", "parameters"),
        "parameters and steps may differ.": _with("parameters", "steps"),
        "this is how often the results agree; their objections are asked for.": (
            lambda a, b: len(a) - len(_differences(a, b))
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
        "the right keys, but chosen_on stands at the end: sort the list.": (
            lambda a, b: sorted(_unfair_in(a, b), key=lambda name: name == "chosen_on")
        ),
        "the right keys, but chosen_on stands first, and the others as in the statement.": (
            lambda a, b: sorted(
                _unfair_in(a, b),
                key=["chosen_on", "minutes", "trials", "tokenizer", "test", "signature"].index,
            )
        ),
        "the right keys, in the order of the statement; the alphabet's is asked for.": (
            lambda a, b: sorted(
                _unfair_in(a, b),
                key=["minutes", "trials", "tokenizer", "test", "signature", "chosen_on"].index,
            )
        ),
        "chosen_on stands there twice where both chose on the test split.": (
            lambda a, b: sorted(
                _unfair_in(a, b) + ["chosen_on"] * (a["chosen_on"] == b["chosen_on"] == "test")
            )
        ),
        "these are the keys, of those that count, that are in order.": (
            lambda a, b: sorted(set(a) - set(FREE) - set(_unfair_in(a, b)))
        ),
        "where nothing is wrong this is None; an empty list is asked for.": (
            lambda a, b: _unfair_in(a, b) or None
        ),
        "the keys are joined into one text; a list is asked for.": (
            lambda a, b: ", ".join(_unfair_in(a, b))
        ),
        "chosen_on is named where one is 'val'; it is 'test' that may not be.": (
            lambda a, b: sorted(
                _without("chosen_on")(a, b)
                + ["chosen_on"] * ("val" in (a["chosen_on"], b["chosen_on"]))
            )
        ),
        "chosen_on is named where both are equal; it is 'test' that may not be.": (
            lambda a, b: sorted(
                _without("chosen_on")(a, b) + ["chosen_on"] * (a["chosen_on"] == b["chosen_on"])
            )
        ),
    },
    cases=[
        (LUONG, TRANSFORMER),
        (LUONG | {"trials": 1, "minutes": 5}, TRANSFORMER | {"chosen_on": "test"}),
        (LUONG | {"chosen_on": "test"}, TRANSFORMER | {"signature": "none, lower-cased"}),
        (LUONG | {"chosen_on": "test"}, TRANSFORMER | {"chosen_on": "test"}),
        (LUONG | {"tokenizer": "words"}, TRANSFORMER | {"test": "2017"}),
        (LUONG | {"trials": 9, "minutes": 20}, TRANSFORMER),
    ],
)

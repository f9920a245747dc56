"""Luong attention: how wide a window must be."""

import functools
from collections.abc import Callable
from typing import Any

from annotated_transformer.toy import toy_corpus
from transformer_workbook.judge.comparing import is_number
from transformer_workbook.old_exercises.old_question import Question, by_number


@functools.cache
def _distances() -> list[int]:
    """How far to the right of the target position each gold link ends, in 400 pairs."""
    pairs = toy_corpus(pairs=400)["train"]
    return [source - target for pair in pairs for source, target in pair.alignment]


def _share(D: int) -> float:
    """The share of the links that are no farther away than D."""
    return sum(abs(distance) <= D for distance in _distances()) / len(_distances())


def _narrowest(distance: Callable[[int], float], share: float = 0.9) -> int:
    """The smallest D so that a share of the links is no farther away."""
    distances = sorted(map(distance, _distances()))
    return next(D for D in range(40) if sum(x <= D for x in distances) >= share * len(distances))


@Question
def narrowest_window(answer: Any) -> str:
    """How wide a window around position t holds 90 % of the gold links?"""
    right = _narrowest(abs)
    if is_number(answer) and (0 < answer < 1 or 40 <= answer <= 100):
        return "this is a share of the links; D is a whole number of words."
    return by_number(
        answer,
        right,
        {
            **{
                D: f"with D = {D} the windows hold {100 * _share(D):.1f} % of the links"
                + (", which is too few." if right > D else "; a smaller D holds 90 %, too.")
                for D in range(40)
            },
            2 * right + 1: "this is the whole window; D counts the words to one side of t.",
            2 * right: "this is the whole window without t; D counts the words to one side.",
            right + 1: "this is one too many; a word exactly D places away is inside.",
            _narrowest(abs, 1.0): "these windows hold all links; 90 % of them are asked for.",
            _narrowest(lambda x: x): "links to the left of t have a distance, too; take abs.",
            _narrowest(abs, 0.5): "this is a window for half of the links.",
        },
    )

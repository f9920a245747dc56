"""Positional encoding: the base of its frequencies."""

import functools
from typing import Any

import torch

from transformer_workbook.old_exercises.old_question import Question, by_number

BASES = 10, 100, 1000, 10000


@functools.cache
def _best_base(length: int = 1000, d_model: int = 8) -> int:
    """The base whose two closest of so many positions are farthest apart."""
    offset = torch.arange(1, length, dtype=torch.float64)[:, None]

    def closest(base: int) -> float:
        frequency = base ** (-torch.arange(0, d_model, 2) / d_model)
        return float((2 - 2 * (offset * frequency).cos()).sum(dim=1).min())

    return max(BASES, key=closest)


@Question
def best_base(answer: Any) -> str:
    """Which base keeps the two closest of 1,000 positions farthest apart?"""
    return by_number(
        answer,
        _best_base(),
        {
            _best_base(length=2): "this is best for neighbours; look at all offsets up to 999.",
            100: "there are two positions, hundreds apart, where all four hands come close again.",
            10000: "its slow hands hardly move, so that the first ones have to do the work alone.",
        },
        among=BASES,
    )

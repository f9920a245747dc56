"""Greedy search: ours beside Hugging Face and CTranslate2, which must agree in 32 bits."""

from typing import Any

from bench import translating
from bench.task import require_equal
from bench.translating import contestants, prepare, reference

__all__ = ["CONTESTANTS", "judge", "prepare", "reference"]

CONTESTANTS = contestants(beam=1)
ROUNDED = ("ours, bfloat16", "ours, fast, bfloat16", "CTranslate2, int8")
"""The contestants whose weights are rounded, so that another token may win."""


def judge(answers: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Refuse a contestant that computes in 32 bits and has another translation."""
    require_equal({n: answer for n, answer in answers.items() if n not in ROUNDED}, tolerance=0)
    return translating.judge(answers)

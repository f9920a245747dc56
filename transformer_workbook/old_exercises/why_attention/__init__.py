"""Exercises of the chapter "Why attention? Work, waiting and distance"."""

from transformer_workbook.old_exercises.why_attention.blocks import block_attention
from transformer_workbook.old_exercises.why_attention.break_evens import break_even
from transformer_workbook.old_exercises.why_attention.costs import wasted_pairs
from transformer_workbook.old_exercises.why_attention.measured import (
    doubling_reach,
    record_of_times,
)
from transformer_workbook.old_exercises.why_attention.paths import path_length
from transformer_workbook.old_exercises.why_attention.windows import window

__all__ = [
    "block_attention",
    "break_even",
    "doubling_reach",
    "path_length",
    "record_of_times",
    "wasted_pairs",
    "window",
]

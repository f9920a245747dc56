"""Exercises of the chapter "Why attention? Work, waiting and distance"."""

from annotated_transformer.course.exercises.why_attention.blocks import block_attention
from annotated_transformer.course.exercises.why_attention.break_evens import break_even
from annotated_transformer.course.exercises.why_attention.costs import wasted_pairs
from annotated_transformer.course.exercises.why_attention.measured import (
    doubling_reach,
    record_of_times,
)
from annotated_transformer.course.exercises.why_attention.paths import path_length
from annotated_transformer.course.exercises.why_attention.windows import window

__all__ = [
    "window",
    "wasted_pairs",
    "break_even",
    "doubling_reach",
    "record_of_times",
    "path_length",
    "block_attention",
]

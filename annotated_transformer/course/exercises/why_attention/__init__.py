"""Exercises of the chapter "Why attention? Work, waiting and distance"."""

from annotated_transformer.course.exercises.why_attention.costs import (
    attention_operations,
    break_even,
    wasted_pairs,
)
from annotated_transformer.course.exercises.why_attention.paths import (
    layers_needed,
    path_length,
    window,
)

__all__ = [
    "window",
    "attention_operations",
    "break_even",
    "layers_needed",
    "wasted_pairs",
    "path_length",
]

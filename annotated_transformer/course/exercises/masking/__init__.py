"""Exercises of the chapter "Masking: what may not be seen"."""

from annotated_transformer.course.exercises.masking.hidden_scores import (
    safe_weights,
)
from annotated_transformer.course.exercises.masking.leaks import (
    causal_attention,
    kept_ends,
    sees_the_future,
)
from annotated_transformer.course.exercises.masking.masks import (
    both_masks,
    causal_square,
    padding_columns,
)

__all__ = [
    "causal_square",
    "padding_columns",
    "both_masks",
    "safe_weights",
    "causal_attention",
    "kept_ends",
    "sees_the_future",
]

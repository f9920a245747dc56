"""Exercises of the chapter "Self-attention: a sentence that looks at itself"."""

from annotated_transformer.course.exercises.self_attention.one_sequence import (
    one_output,
    scaled_scores,
    self_attend,
)
from annotated_transformer.course.exercises.self_attention.scaling import (
    batched_attention,
    score_variances,
)

__all__ = [
    "scaled_scores",
    "one_output",
    "self_attend",
    "score_variances",
    "batched_attention",
]

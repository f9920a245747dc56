"""Exercises of the chapter "Bahdanau attention: looking back at every word"."""

from annotated_transformer.course.exercises.bahdanau.scores_and_alignments import (
    additive_scores,
    alignment_error,
)
from annotated_transformer.course.exercises.bahdanau.soft_lookup import (
    attention_weights,
    context_vector,
    nadaraya_watson,
)

__all__ = [
    "context_vector",
    "attention_weights",
    "additive_scores",
    "alignment_error",
    "nadaraya_watson",
]

"""Exercises of the chapter "Bahdanau attention: looking back at every word"."""

from annotated_transformer.course.exercises.bahdanau.additive import additive_attention
from annotated_transformer.course.exercises.bahdanau.alignments import alignment_error
from annotated_transformer.course.exercises.bahdanau.scores import (
    best_sharpness,
    by_one_score,
    same_weights,
)
from annotated_transformer.course.exercises.bahdanau.soft_lookup import (
    attention_weights,
    nadaraya_watson,
)

__all__ = [
    "attention_weights",
    "nadaraya_watson",
    "same_weights",
    "alignment_error",
    "best_sharpness",
    "by_one_score",
    "additive_attention",
]

"""Exercises of the chapter "Bahdanau attention: looking back at every word"."""

from annotated_transformer.course.exercises.bahdanau.additive import additive_attention
from annotated_transformer.course.exercises.bahdanau.alignments import alignment_error
from annotated_transformer.course.exercises.bahdanau.one_score import by_one_score
from annotated_transformer.course.exercises.bahdanau.regression import nadaraya_watson
from annotated_transformer.course.exercises.bahdanau.scores import (
    best_sharpness,
    same_weights,
)
from annotated_transformer.course.exercises.bahdanau.soft_lookup import attention_weights

__all__ = [
    "attention_weights",
    "nadaraya_watson",
    "same_weights",
    "alignment_error",
    "best_sharpness",
    "by_one_score",
    "additive_attention",
]

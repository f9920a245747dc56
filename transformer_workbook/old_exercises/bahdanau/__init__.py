"""Exercises of the chapter "Bahdanau attention: looking back at every word"."""

from transformer_workbook.old_exercises.bahdanau.additive import additive_attention
from transformer_workbook.old_exercises.bahdanau.alignments import alignment_error
from transformer_workbook.old_exercises.bahdanau.one_score import by_one_score
from transformer_workbook.old_exercises.bahdanau.regression import nadaraya_watson
from transformer_workbook.old_exercises.bahdanau.scores import (
    best_sharpness,
    same_weights,
)
from transformer_workbook.old_exercises.bahdanau.soft_lookup import attention_weights

__all__ = [
    "additive_attention",
    "alignment_error",
    "attention_weights",
    "best_sharpness",
    "by_one_score",
    "nadaraya_watson",
    "same_weights",
]

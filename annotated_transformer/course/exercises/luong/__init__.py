"""Exercises of the chapter "Luong attention: the same idea, simpler"."""

from annotated_transformer.course.exercises.luong.decoder_steps import (
    attentional_state,
    luong_context,
)
from annotated_transformer.course.exercises.luong.scores import (
    dot_scores,
    general_scores,
    score_parameters,
)

__all__ = [
    "dot_scores",
    "general_scores",
    "attentional_state",
    "score_parameters",
    "luong_context",
]

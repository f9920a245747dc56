"""Exercises of the chapter "Multi-head attention: looking at several places at once"."""

from annotated_transformer.course.exercises.multi_head_attention.groups import (
    grouped_attention,
    head_contributions,
    head_sizes,
)
from annotated_transformer.course.exercises.multi_head_attention.heads import (
    attend_in_heads,
    mixing_cuts,
)

__all__ = [
    "head_contributions",
    "attend_in_heads",
    "mixing_cuts",
    "head_sizes",
    "grouped_attention",
]

"""Exercises of the chapter "Multi-head attention: looking at several places at once"."""

from annotated_transformer.course.exercises.multi_head_attention.heads import (
    attend_in_heads,
    merge_heads,
    split_heads,
)
from annotated_transformer.course.exercises.multi_head_attention.multi_head import (
    head_contributions,
    head_parameters,
    multi_head,
)

__all__ = [
    "merge_heads",
    "split_heads",
    "multi_head",
    "head_parameters",
    "head_contributions",
    "attend_in_heads",
]

"""Exercises of the chapter "Cross-attention: the decoder looks at the source"."""

from annotated_transformer.course.exercises.cross_attention.target_and_source import (
    cross_mask,
    cross_shapes,
    projection_operations,
)
from annotated_transformer.course.exercises.cross_attention.who_asks import (
    cross_attention_head,
    turned_attention,
)

__all__ = [
    "cross_mask",
    "cross_attention_head",
    "cross_shapes",
    "projection_operations",
    "turned_attention",
]

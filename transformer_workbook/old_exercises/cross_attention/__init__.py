"""Exercises of the chapter "Cross-attention: the decoder looks at the source"."""

from transformer_workbook.old_exercises.cross_attention.gradients import memory_gradient
from transformer_workbook.old_exercises.cross_attention.masks import cross_mask
from transformer_workbook.old_exercises.cross_attention.reading_once import source_reader
from transformer_workbook.old_exercises.cross_attention.target_and_source import cross_shapes
from transformer_workbook.old_exercises.cross_attention.who_asks import (
    turned_attention,
    unchanged_by,
)

__all__ = [
    "cross_mask",
    "cross_shapes",
    "memory_gradient",
    "source_reader",
    "turned_attention",
    "unchanged_by",
]

"""Exercises of the chapter "Decoding: from probabilities to a sentence"."""

from annotated_transformer.course.exercises.decoding.beams import (
    extend_beam,
    penalised,
    tempered,
)
from annotated_transformer.course.exercises.decoding.caches import (
    cached_numbers,
    keep_rows,
    positions_read,
)

__all__ = [
    "tempered",
    "penalised",
    "extend_beam",
    "positions_read",
    "cached_numbers",
    "keep_rows",
]

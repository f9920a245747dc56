"""Exercises of the chapter "Decoding: from probabilities to a sentence"."""

from annotated_transformer.course.exercises.decoding.beams import (
    extend_beam,
    greedy_misses,
)
from annotated_transformer.course.exercises.decoding.caches import (
    keep_rows,
)
from annotated_transformer.course.exercises.decoding.costs import (
    cached_numbers,
    positions_read,
)
from annotated_transformer.course.exercises.decoding.scores import (
    exact_search,
)
from annotated_transformer.course.exercises.decoding.turning import (
    turning_point,
)

__all__ = [
    "positions_read",
    "keep_rows",
    "cached_numbers",
    "greedy_misses",
    "turning_point",
    "extend_beam",
    "exact_search",
]

"""Exercises of the chapter "Decoding: from probabilities to a sentence"."""

from transformer_workbook.old_exercises.decoding.beams import (
    extend_beam,
    greedy_misses,
)
from transformer_workbook.old_exercises.decoding.caches import (
    keep_rows,
)
from transformer_workbook.old_exercises.decoding.costs import (
    cached_numbers,
    positions_read,
)
from transformer_workbook.old_exercises.decoding.scores import (
    exact_search,
)
from transformer_workbook.old_exercises.decoding.turning import (
    turning_point,
)

__all__ = [
    "cached_numbers",
    "exact_search",
    "extend_beam",
    "greedy_misses",
    "keep_rows",
    "positions_read",
    "turning_point",
]

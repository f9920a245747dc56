"""Exercises of the chapter "Positional encoding: telling a word where it stands"."""

from transformer_workbook.old_exercises.positional_encoding.bases import (
    best_base,
)
from transformer_workbook.old_exercises.positional_encoding.biases import (
    alibi_biases,
)
from transformer_workbook.old_exercises.positional_encoding.positions import (
    offset_distance,
    wavelength,
)
from transformer_workbook.old_exercises.positional_encoding.rotations import (
    llama_rotary,
)
from transformer_workbook.old_exercises.positional_encoding.turned_scores import (
    turned_score,
)
from transformer_workbook.old_exercises.positional_encoding.words_and_positions import (
    embed_from,
)

__all__ = [
    "alibi_biases",
    "best_base",
    "embed_from",
    "llama_rotary",
    "offset_distance",
    "turned_score",
    "wavelength",
]

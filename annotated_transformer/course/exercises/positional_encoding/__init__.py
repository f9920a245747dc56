"""Exercises of the chapter "Positional encoding: telling a word where it stands"."""

from annotated_transformer.course.exercises.positional_encoding.offsets import (
    offset_distance,
    shift_matrix,
)
from annotated_transformer.course.exercises.positional_encoding.positions import (
    angle,
    sinusoids,
    wavelength,
)
from annotated_transformer.course.exercises.positional_encoding.words_and_positions import (
    embed_from,
)

__all__ = [
    "angle",
    "wavelength",
    "sinusoids",
    "offset_distance",
    "shift_matrix",
    "embed_from",
]

"""Exercises of the chapter "Sequence to sequence: a sentence in one vector"."""

from annotated_transformer.course.exercises.seq2seq.accuracy import (
    exact_accuracy_by_length,
)
from annotated_transformer.course.exercises.seq2seq.greedy_decoding import (
    greedy_decode,
)
from annotated_transformer.course.exercises.seq2seq.reading import (
    gru_update,
    last_states,
    reverse_padded,
)

__all__ = [
    "gru_update",
    "last_states",
    "greedy_decode",
    "exact_accuracy_by_length",
    "reverse_padded",
]

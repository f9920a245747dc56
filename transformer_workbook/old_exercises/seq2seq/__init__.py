"""Exercises of the chapter "Sequence to sequence: a sentence in one vector"."""

from transformer_workbook.old_exercises.seq2seq.accuracy import (
    exact_accuracy_by_length,
)
from transformer_workbook.old_exercises.seq2seq.gradients import (
    gru_derivative,
    remembering_bias,
)
from transformer_workbook.old_exercises.seq2seq.greedy_decoding import (
    greedy_decode,
)
from transformer_workbook.old_exercises.seq2seq.lstm import (
    lstm_encode,
)
from transformer_workbook.old_exercises.seq2seq.reading import (
    last_states,
    reverse_padded,
)

__all__ = [
    "exact_accuracy_by_length",
    "greedy_decode",
    "gru_derivative",
    "last_states",
    "lstm_encode",
    "remembering_bias",
    "reverse_padded",
]

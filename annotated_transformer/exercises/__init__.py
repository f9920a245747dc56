"""The exercises of the book.

An exercise is called with the reader's function and returns a verdict:

>>> count_tokens(lambda ids: ids.sum(dim=1))
wrong: you add up the ids; compare them with PAD first.
"""

from annotated_transformer.exercises.accuracy import exact_accuracy_by_length
from annotated_transformer.exercises.bahdanau import additive_scores, alignment_error
from annotated_transformer.exercises.greedy_decoding import greedy_decode
from annotated_transformer.exercises.luong import attentional_state, luong_context
from annotated_transformer.exercises.scores import dot_scores, general_scores, score_parameters
from annotated_transformer.exercises.seq2seq import gru_update, last_states, reverse_padded
from annotated_transformer.exercises.soft_lookup import (
    attention_weights,
    context_vector,
    nadaraya_watson,
)
from annotated_transformer.exercises.tokens_and_batches import (
    count_tokens,
    mean_surprise,
    perplexity_of_two,
    shift,
)

__all__ = [  # noqa: RUF022 (in the order of the chapters)
    "count_tokens",
    "shift",
    "perplexity_of_two",
    "mean_surprise",
    "gru_update",
    "last_states",
    "greedy_decode",
    "exact_accuracy_by_length",
    "reverse_padded",
    "context_vector",
    "attention_weights",
    "additive_scores",
    "alignment_error",
    "nadaraya_watson",
    "dot_scores",
    "general_scores",
    "attentional_state",
    "score_parameters",
    "luong_context",
]

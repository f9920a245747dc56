"""The exercises of the book.

An exercise is called with the reader's function and returns a verdict:

>>> count_tokens(lambda ids: ids.sum(dim=1))
wrong: you add up the ids; compare them with PAD first.
"""

from annotated_transformer.exercises.accuracy import exact_accuracy_by_length
from annotated_transformer.exercises.bahdanau import additive_scores, alignment_error
from annotated_transformer.exercises.cross_attention import cross_attention_head, turned_attention
from annotated_transformer.exercises.greedy_decoding import greedy_decode
from annotated_transformer.exercises.heads import attend_in_heads, merge_heads, split_heads
from annotated_transformer.exercises.hidden_scores import safe_weights
from annotated_transformer.exercises.leaks import causal_attention, kept_ends, sees_the_future
from annotated_transformer.exercises.luong import attentional_state, luong_context
from annotated_transformer.exercises.masks import both_masks, causal_square, padding_columns
from annotated_transformer.exercises.multi_head import (
    head_contributions,
    head_parameters,
    multi_head,
)
from annotated_transformer.exercises.offsets import offset_distance, shift_matrix
from annotated_transformer.exercises.positions import angle, sinusoids, wavelength
from annotated_transformer.exercises.scaling import batched_attention, score_variances
from annotated_transformer.exercises.scores import dot_scores, general_scores, score_parameters
from annotated_transformer.exercises.self_attention import one_output, scaled_scores, self_attend
from annotated_transformer.exercises.seq2seq import gru_update, last_states, reverse_padded
from annotated_transformer.exercises.soft_lookup import (
    attention_weights,
    context_vector,
    nadaraya_watson,
)
from annotated_transformer.exercises.target_and_source import (
    cross_mask,
    cross_shapes,
    projection_operations,
)
from annotated_transformer.exercises.tokens_and_batches import (
    count_tokens,
    mean_surprise,
    perplexity_of_two,
    shift,
)
from annotated_transformer.exercises.words_and_positions import embed_from

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
    "scaled_scores",
    "one_output",
    "self_attend",
    "score_variances",
    "batched_attention",
    "merge_heads",
    "split_heads",
    "multi_head",
    "head_contributions",
    "head_parameters",
    "attend_in_heads",
    "angle",
    "sinusoids",
    "wavelength",
    "shift_matrix",
    "offset_distance",
    "embed_from",
    "causal_square",
    "padding_columns",
    "both_masks",
    "safe_weights",
    "causal_attention",
    "kept_ends",
    "sees_the_future",
    "cross_mask",
    "cross_attention_head",
    "cross_shapes",
    "projection_operations",
    "turned_attention",
]

"""The exercises of the book.

An exercise is called with the reader's function and returns a verdict:

>>> count_tokens(lambda ids: ids.sum(dim=1))
wrong: you add up the ids; compare them with PAD first.
"""

from annotated_transformer.exercises.ablations import head_damages, remove_heads
from annotated_transformer.exercises.accumulation import accumulate, clip_together
from annotated_transformer.exercises.accuracy import exact_accuracy_by_length
from annotated_transformer.exercises.bahdanau import additive_scores, alignment_error
from annotated_transformer.exercises.beams import extend_beam, penalised, tempered
from annotated_transformer.exercises.bleu import bleu_score, brevity_penalty, clipped_precision
from annotated_transformer.exercises.caches import cached_numbers, keep_rows, positions_read
from annotated_transformer.exercises.comparisons import steps_agree
from annotated_transformer.exercises.costs import attention_operations, break_even, wasted_pairs
from annotated_transformer.exercises.cross_attention import cross_attention_head, turned_attention
from annotated_transformer.exercises.evaluations import corpus_bleu, perplexity_per_word, unfair_in
from annotated_transformer.exercises.greedy_decoding import greedy_decode
from annotated_transformer.exercises.head_roles import (
    kendall_tau,
    previous_by_chance,
    relation_score,
)
from annotated_transformer.exercises.heads import attend_in_heads, merge_heads, split_heads
from annotated_transformer.exercises.hidden_scores import safe_weights
from annotated_transformer.exercises.invariants import hides_the_future, repeats_itself
from annotated_transformer.exercises.leaks import causal_attention, kept_ends, sees_the_future
from annotated_transformer.exercises.leaving_out import leave_one_out
from annotated_transformer.exercises.luong import attentional_state, luong_context
from annotated_transformer.exercises.masks import both_masks, causal_square, padding_columns
from annotated_transformer.exercises.model_sizes import transformer_parameters
from annotated_transformer.exercises.multi_head import (
    head_contributions,
    head_parameters,
    multi_head,
)
from annotated_transformer.exercises.normalisation import feed_forward, layer_norm
from annotated_transformer.exercises.offsets import offset_distance, shift_matrix
from annotated_transformer.exercises.padding import ignores_padding
from annotated_transformer.exercises.parts import layers_differ, norms_agree
from annotated_transformer.exercises.paths import layers_needed, path_length, window
from annotated_transformer.exercises.positions import angle, sinusoids, wavelength
from annotated_transformer.exercises.residuals import post_norm_stack, pre_norm_stack
from annotated_transformer.exercises.scaling import batched_attention, score_variances
from annotated_transformer.exercises.scores import dot_scores, general_scores, score_parameters
from annotated_transformer.exercises.self_attention import one_output, scaled_scores, self_attend
from annotated_transformer.exercises.seq2seq import gru_update, last_states, reverse_padded
from annotated_transformer.exercises.slopes import layer_parameters, stack_slopes
from annotated_transformer.exercises.smoothing import lowest_loss, paper_rate, smoothed_targets
from annotated_transformer.exercises.soft_lookup import (
    attention_weights,
    context_vector,
    nadaraya_watson,
)
from annotated_transformer.exercises.stacks import make_stack, run_stacks
from annotated_transformer.exercises.subword_merges import cut_into_subwords, next_merge
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
from annotated_transformer.exercises.updates import adam_update
from annotated_transformer.exercises.whole_model import encoder_block, first_loss, tied_logits
from annotated_transformer.exercises.words_and_positions import embed_from

__all__ = [  # noqa: RUF022 (each chapter begins a line)
    "count_tokens", "shift", "perplexity_of_two", "mean_surprise",
    "gru_update", "last_states", "greedy_decode", "exact_accuracy_by_length", "reverse_padded",
    "context_vector", "attention_weights", "additive_scores", "alignment_error",
    "nadaraya_watson",
    "dot_scores", "general_scores", "attentional_state", "score_parameters", "luong_context",
    "scaled_scores", "one_output", "self_attend", "score_variances", "batched_attention",
    "merge_heads", "split_heads", "multi_head", "head_contributions", "head_parameters",
    "attend_in_heads",
    "angle", "sinusoids", "wavelength", "shift_matrix", "offset_distance", "embed_from",
    "causal_square", "padding_columns", "both_masks", "safe_weights", "causal_attention",
    "kept_ends", "sees_the_future",
    "cross_mask", "cross_attention_head", "cross_shapes", "projection_operations",
    "turned_attention",
    "feed_forward", "layer_norm", "stack_slopes", "post_norm_stack", "pre_norm_stack",
    "layer_parameters",
    "tied_logits", "run_stacks", "encoder_block", "first_loss", "transformer_parameters",
    "make_stack",
    "smoothed_targets", "lowest_loss", "paper_rate", "adam_update", "clip_together",
    "accumulate",
    "extend_beam", "penalised", "tempered", "positions_read", "cached_numbers", "keep_rows",
    "next_merge", "cut_into_subwords", "clipped_precision", "brevity_penalty", "bleu_score",
    "corpus_bleu", "perplexity_per_word", "unfair_in",
    "relation_score", "remove_heads", "kendall_tau", "leave_one_out", "previous_by_chance",
    "head_damages",
    "attention_operations", "break_even", "wasted_pairs", "window", "layers_needed",
    "path_length",
    "repeats_itself", "hides_the_future", "ignores_padding", "steps_agree", "layers_differ",
    "norms_agree",
]  # fmt: skip

"""Exercises of the chapter "Translation: sentences that people wrote"."""

from annotated_transformer.course.exercises.translation.bleu import (
    bleu_score,
    brevity_penalty,
    clipped_precision,
)
from annotated_transformer.course.exercises.translation.evaluations import (
    corpus_bleu,
    perplexity_per_word,
    unfair_in,
)
from annotated_transformer.course.exercises.translation.subword_merges import (
    cut_into_subwords,
    next_merge,
)

__all__ = [
    "next_merge",
    "cut_into_subwords",
    "clipped_precision",
    "brevity_penalty",
    "bleu_score",
    "perplexity_per_word",
    "corpus_bleu",
    "unfair_in",
]

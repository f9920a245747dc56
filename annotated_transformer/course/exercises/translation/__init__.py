"""Exercises of the chapter "Translation: sentences that people wrote"."""

from annotated_transformer.course.exercises.translation.evaluations import (
    perplexity_per_word,
    unfair_in,
)
from annotated_transformer.course.exercises.translation.scores import (
    chrf,
    corpus_bleu,
    five_wrong_words,
)
from annotated_transformer.course.exercises.translation.subword_merges import (
    cut_into_subwords,
    next_merge,
)

__all__ = [
    "unfair_in",
    "next_merge",
    "cut_into_subwords",
    "corpus_bleu",
    "five_wrong_words",
    "perplexity_per_word",
    "chrf",
]

"""Exercises of the chapter "Translation: sentences that people wrote"."""

from annotated_transformer.course.exercises.translation.bleu import (
    corpus_bleu,
)
from annotated_transformer.course.exercises.translation.chrf import (
    chrf,
)
from annotated_transformer.course.exercises.translation.evaluations import (
    unfair_in,
)
from annotated_transformer.course.exercises.translation.merges import (
    next_merge,
)
from annotated_transformer.course.exercises.translation.perplexity import (
    perplexity_per_word,
)
from annotated_transformer.course.exercises.translation.subwords import (
    cut_into_subwords,
)
from annotated_transformer.course.exercises.translation.wrong_words import (
    five_wrong_words,
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

"""Exercises of the chapter "Translation: sentences that people wrote"."""

from transformer_workbook.old_exercises.translation.bleu import (
    corpus_bleu,
)
from transformer_workbook.old_exercises.translation.chrf import (
    chrf,
)
from transformer_workbook.old_exercises.translation.evaluations import (
    unfair_in,
)
from transformer_workbook.old_exercises.translation.merges import (
    next_merge,
)
from transformer_workbook.old_exercises.translation.perplexity import (
    perplexity_per_word,
)
from transformer_workbook.old_exercises.translation.subwords import (
    cut_into_subwords,
)
from transformer_workbook.old_exercises.translation.wrong_words import (
    five_wrong_words,
)

__all__ = [
    "chrf",
    "corpus_bleu",
    "cut_into_subwords",
    "five_wrong_words",
    "next_merge",
    "perplexity_per_word",
    "unfair_in",
]

"""Exercises of the chapter "Tokens and batches: what a translation model reads"."""

from transformer_workbook.old_exercises.tokens_and_batches.counting import (
    count_tokens,
    shift,
)
from transformer_workbook.old_exercises.tokens_and_batches.leads import (
    perplexity_of_lead,
)
from transformer_workbook.old_exercises.tokens_and_batches.padding import (
    fill_batches,
    smallest_pool,
)
from transformer_workbook.old_exercises.tokens_and_batches.surprisals import (
    mean_surprisal,
    perplexity_of_two,
)

__all__ = [
    "count_tokens",
    "fill_batches",
    "mean_surprisal",
    "perplexity_of_lead",
    "perplexity_of_two",
    "shift",
    "smallest_pool",
]

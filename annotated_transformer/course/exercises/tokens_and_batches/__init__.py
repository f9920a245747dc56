"""Exercises of the chapter "Tokens and batches: what a translation model reads"."""

from annotated_transformer.course.exercises.tokens_and_batches.counting import (
    count_tokens,
    shift,
)
from annotated_transformer.course.exercises.tokens_and_batches.leads import (
    perplexity_of_lead,
)
from annotated_transformer.course.exercises.tokens_and_batches.padding import (
    fill_batches,
    smallest_pool,
)
from annotated_transformer.course.exercises.tokens_and_batches.surprisals import (
    mean_surprisal,
    perplexity_of_two,
)

__all__ = [
    "count_tokens",
    "shift",
    "perplexity_of_two",
    "mean_surprisal",
    "perplexity_of_lead",
    "smallest_pool",
    "fill_batches",
]

"""Exercises of the chapter "Tokens and batches: what a translation model reads"."""

from annotated_transformer.course.exercises.tokens_and_batches.tokens_and_surprises import (
    count_tokens,
    mean_surprise,
    perplexity_of_two,
    shift,
)

__all__ = [
    "count_tokens",
    "shift",
    "perplexity_of_two",
    "mean_surprise",
]

"""Exercises of the chapter "Self-attention: a sentence that looks at itself"."""

from transformer_workbook.old_exercises.self_attention.layers import (
    self_attention_layer,
)
from transformer_workbook.old_exercises.self_attention.one_query import (
    one_output,
)
from transformer_workbook.old_exercises.self_attention.scaling import (
    batched_attention,
    nearly_one_key,
    score_variances,
)

__all__ = [
    "batched_attention",
    "nearly_one_key",
    "one_output",
    "score_variances",
    "self_attention_layer",
]

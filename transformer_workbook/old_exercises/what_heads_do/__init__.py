"""Exercises of the chapter "What heads do: looking into a trained Transformer"."""

from transformer_workbook.old_exercises.what_heads_do.ablations import (
    head_damages,
)
from transformer_workbook.old_exercises.what_heads_do.capturing import (
    capture_heads,
)
from transformer_workbook.old_exercises.what_heads_do.chance import (
    previous_by_chance,
)
from transformer_workbook.old_exercises.what_heads_do.evidence import (
    enough_sentences,
    said_by_the_record,
)
from transformer_workbook.old_exercises.what_heads_do.head_roles import (
    relation_score,
)
from transformer_workbook.old_exercises.what_heads_do.orders import (
    kendall_tau,
)
from transformer_workbook.old_exercises.what_heads_do.stream import (
    parts_of_the_stream,
)

__all__ = [
    "capture_heads",
    "enough_sentences",
    "head_damages",
    "kendall_tau",
    "parts_of_the_stream",
    "previous_by_chance",
    "relation_score",
    "said_by_the_record",
]

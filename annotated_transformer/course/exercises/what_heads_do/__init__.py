"""Exercises of the chapter "What heads do: looking into a trained Transformer"."""

from annotated_transformer.course.exercises.what_heads_do.ablations import (
    head_damages,
    remove_heads,
)
from annotated_transformer.course.exercises.what_heads_do.head_roles import (
    kendall_tau,
    previous_by_chance,
    relation_score,
)
from annotated_transformer.course.exercises.what_heads_do.leaving_out import (
    leave_one_out,
)

__all__ = [
    "relation_score",
    "remove_heads",
    "kendall_tau",
    "previous_by_chance",
    "leave_one_out",
    "head_damages",
]

"""Exercises of the chapter "Find the bug"."""

from annotated_transformer.course.exercises.find_the_bug.comparisons import (
    steps_agree,
)
from annotated_transformer.course.exercises.find_the_bug.invariants import (
    hides_the_future,
    repeats_itself,
)
from annotated_transformer.course.exercises.find_the_bug.padding import (
    ignores_padding,
)
from annotated_transformer.course.exercises.find_the_bug.parts import (
    layers_differ,
    norms_agree,
)

__all__ = [
    "repeats_itself",
    "hides_the_future",
    "ignores_padding",
    "steps_agree",
    "layers_differ",
    "norms_agree",
]

"""Exercises of the chapter "Find the bug"."""

from annotated_transformer.course.exercises.find_the_bug.attacks import (
    red_team,
)
from annotated_transformer.course.exercises.find_the_bug.future import (
    hides_the_future,
)
from annotated_transformer.course.exercises.find_the_bug.naming_trainers import (
    name_the_trainers,
)
from annotated_transformer.course.exercises.find_the_bug.norms import (
    norms_agree,
)
from annotated_transformer.course.exercises.find_the_bug.padding import (
    ignores_padding,
)
from annotated_transformer.course.exercises.find_the_bug.proving import (
    too_wide_to_see,
    what_a_pass_shows,
)
from annotated_transformer.course.exercises.find_the_bug.steps import (
    steps_agree,
)

__all__ = [
    "ignores_padding",
    "steps_agree",
    "hides_the_future",
    "norms_agree",
    "too_wide_to_see",
    "what_a_pass_shows",
    "red_team",
    "name_the_trainers",
]

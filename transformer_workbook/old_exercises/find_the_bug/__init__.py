"""Exercises of the chapter "Find the bug"."""

from transformer_workbook.old_exercises.find_the_bug.attacks import (
    red_team,
)
from transformer_workbook.old_exercises.find_the_bug.future import (
    hides_the_future,
)
from transformer_workbook.old_exercises.find_the_bug.naming_trainers import (
    name_the_trainers,
)
from transformer_workbook.old_exercises.find_the_bug.norms import (
    norms_agree,
)
from transformer_workbook.old_exercises.find_the_bug.padding import (
    ignores_padding,
)
from transformer_workbook.old_exercises.find_the_bug.proving import (
    too_wide_to_see,
    what_a_pass_shows,
)
from transformer_workbook.old_exercises.find_the_bug.steps import (
    steps_agree,
)

__all__ = [
    "hides_the_future",
    "ignores_padding",
    "name_the_trainers",
    "norms_agree",
    "red_team",
    "steps_agree",
    "too_wide_to_see",
    "what_a_pass_shows",
]

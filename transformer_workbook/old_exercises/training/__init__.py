"""Exercises of the chapter "Training: from random numbers to a translator"."""

from transformer_workbook.old_exercises.training.accumulation import (
    accumulate,
)
from transformer_workbook.old_exercises.training.by_hand import (
    train_by_hand,
)
from transformer_workbook.old_exercises.training.gradients import (
    smoothed_gradient,
)
from transformer_workbook.old_exercises.training.rates import (
    highest_rate,
    paper_rate,
    refuting_beta,
)
from transformer_workbook.old_exercises.training.smoothing import (
    smoothed_targets,
)

__all__ = [
    "accumulate",
    "highest_rate",
    "paper_rate",
    "refuting_beta",
    "smoothed_gradient",
    "smoothed_targets",
    "train_by_hand",
]

"""Exercises of the chapter "Training: from random numbers to a translator"."""

from annotated_transformer.course.exercises.training.accumulation import (
    accumulate,
)
from annotated_transformer.course.exercises.training.by_hand import (
    train_by_hand,
)
from annotated_transformer.course.exercises.training.gradients import (
    smoothed_gradient,
)
from annotated_transformer.course.exercises.training.rates import (
    highest_rate,
    paper_rate,
    refuting_beta,
)
from annotated_transformer.course.exercises.training.smoothing import (
    smoothed_targets,
)

__all__ = [
    "smoothed_targets",
    "paper_rate",
    "accumulate",
    "highest_rate",
    "smoothed_gradient",
    "refuting_beta",
    "train_by_hand",
]

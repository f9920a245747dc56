"""Exercises of the chapter "Training: from random numbers to a translator"."""

from annotated_transformer.course.exercises.training.accumulation import (
    accumulate,
    clip_together,
)
from annotated_transformer.course.exercises.training.smoothing import (
    lowest_loss,
    paper_rate,
    smoothed_targets,
)
from annotated_transformer.course.exercises.training.updates import (
    adam_update,
)

__all__ = [
    "smoothed_targets",
    "lowest_loss",
    "paper_rate",
    "adam_update",
    "clip_together",
    "accumulate",
]

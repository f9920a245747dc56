"""Exercises of the chapter "Masking: what may not be seen"."""

from annotated_transformer.course.exercises.masking.attacks import (
    unseen_leak,
)
from annotated_transformer.course.exercises.masking.causal import (
    causal_attention,
    through_the_mask,
)
from annotated_transformer.course.exercises.masking.leaks import (
    kept_ends,
    sees_the_future,
)
from annotated_transformer.course.exercises.masking.windows import (
    far_reach,
    window_mask,
)

__all__ = [
    "kept_ends",
    "window_mask",
    "causal_attention",
    "far_reach",
    "through_the_mask",
    "sees_the_future",
    "unseen_leak",
]

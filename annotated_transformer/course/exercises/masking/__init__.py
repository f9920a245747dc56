"""Exercises of the chapter "Masking: what may not be seen"."""

from annotated_transformer.course.exercises.masking.attacks import (
    unseen_leak,
)
from annotated_transformer.course.exercises.masking.causal import (
    causal_attention,
)
from annotated_transformer.course.exercises.masking.ends import (
    kept_ends,
)
from annotated_transformer.course.exercises.masking.leaks import (
    sees_the_future,
)
from annotated_transformer.course.exercises.masking.reach import (
    far_reach,
)
from annotated_transformer.course.exercises.masking.through_masks import (
    through_the_mask,
)
from annotated_transformer.course.exercises.masking.windows import (
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

"""Exercises of the chapter "Masking: what may not be seen"."""

from transformer_workbook.old_exercises.masking.attacks import (
    unseen_leak,
)
from transformer_workbook.old_exercises.masking.causal import (
    causal_attention,
)
from transformer_workbook.old_exercises.masking.ends import (
    kept_ends,
)
from transformer_workbook.old_exercises.masking.leaks import (
    sees_the_future,
)
from transformer_workbook.old_exercises.masking.reach import (
    far_reach,
)
from transformer_workbook.old_exercises.masking.through_masks import (
    through_the_mask,
)
from transformer_workbook.old_exercises.masking.windows import (
    window_mask,
)

__all__ = [
    "causal_attention",
    "far_reach",
    "kept_ends",
    "sees_the_future",
    "through_the_mask",
    "unseen_leak",
    "window_mask",
]

"""Exercises of the chapter "Multi-head attention: looking at several places at once"."""

from transformer_workbook.old_exercises.multi_head_attention.contributions import (
    head_contributions,
)
from transformer_workbook.old_exercises.multi_head_attention.cuts import (
    mixing_cuts,
)
from transformer_workbook.old_exercises.multi_head_attention.groups import (
    grouped_attention,
)
from transformer_workbook.old_exercises.multi_head_attention.heads import (
    attend_in_heads,
)
from transformer_workbook.old_exercises.multi_head_attention.sizes import (
    head_sizes,
)

__all__ = [
    "attend_in_heads",
    "grouped_attention",
    "head_contributions",
    "head_sizes",
    "mixing_cuts",
]

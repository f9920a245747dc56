"""Exercises of the chapter "Luong attention: the same idea, simpler"."""

from transformer_workbook.old_exercises.luong.contexts import (
    luong_context,
)
from transformer_workbook.old_exercises.luong.counts import (
    score_parameters,
)
from transformer_workbook.old_exercises.luong.decoder_steps import (
    input_feeding,
)
from transformer_workbook.old_exercises.luong.derivatives import (
    by_the_query,
)
from transformer_workbook.old_exercises.luong.local import (
    local_attention,
)
from transformer_workbook.old_exercises.luong.scores import (
    general_scores,
)
from transformer_workbook.old_exercises.luong.windows import (
    narrowest_window,
)

__all__ = [
    "by_the_query",
    "general_scores",
    "input_feeding",
    "local_attention",
    "luong_context",
    "narrowest_window",
    "score_parameters",
]

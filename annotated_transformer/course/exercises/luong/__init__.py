"""Exercises of the chapter "Luong attention: the same idea, simpler"."""

from annotated_transformer.course.exercises.luong.contexts import (
    luong_context,
)
from annotated_transformer.course.exercises.luong.counts import (
    score_parameters,
)
from annotated_transformer.course.exercises.luong.decoder_steps import (
    input_feeding,
)
from annotated_transformer.course.exercises.luong.derivatives import (
    by_the_query,
)
from annotated_transformer.course.exercises.luong.local import (
    local_attention,
)
from annotated_transformer.course.exercises.luong.scores import (
    general_scores,
)
from annotated_transformer.course.exercises.luong.windows import (
    narrowest_window,
)

__all__ = [
    "general_scores",
    "score_parameters",
    "luong_context",
    "narrowest_window",
    "by_the_query",
    "local_attention",
    "input_feeding",
]

"""Exercises of the chapter "The whole Transformer"."""

from annotated_transformer.course.exercises.transformer.language_models import (
    language_model,
)
from annotated_transformer.course.exercises.transformer.model_sizes import (
    model_parameters,
)
from annotated_transformer.course.exercises.transformer.outputs import (
    first_loss_limit,
    tied_logits,
)
from annotated_transformer.course.exercises.transformer.stacks import (
    encoder_block,
    make_stack,
)
from annotated_transformer.course.exercises.transformer.wiring import (
    unmoved_by_shuffling,
)

__all__ = [
    "tied_logits",
    "make_stack",
    "encoder_block",
    "model_parameters",
    "unmoved_by_shuffling",
    "first_loss_limit",
    "language_model",
]

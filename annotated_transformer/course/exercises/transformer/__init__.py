"""Exercises of the chapter "The whole Transformer"."""

from annotated_transformer.course.exercises.transformer.model_sizes import (
    transformer_parameters,
)
from annotated_transformer.course.exercises.transformer.stacks import (
    make_stack,
    run_stacks,
)
from annotated_transformer.course.exercises.transformer.whole_model import (
    encoder_block,
    first_loss,
    tied_logits,
)

__all__ = [
    "tied_logits",
    "run_stacks",
    "encoder_block",
    "first_loss",
    "transformer_parameters",
    "make_stack",
]

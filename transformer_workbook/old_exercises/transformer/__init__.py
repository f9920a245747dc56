"""Exercises of the chapter "The whole Transformer"."""

from transformer_workbook.old_exercises.transformer.language_models import (
    language_model,
)
from transformer_workbook.old_exercises.transformer.model_sizes import (
    model_parameters,
)
from transformer_workbook.old_exercises.transformer.outputs import (
    first_loss_limit,
    tied_logits,
)
from transformer_workbook.old_exercises.transformer.stacks import (
    encoder_block,
    make_stack,
)
from transformer_workbook.old_exercises.transformer.wiring import (
    unmoved_by_shuffling,
)

__all__ = [
    "encoder_block",
    "first_loss_limit",
    "language_model",
    "make_stack",
    "model_parameters",
    "tied_logits",
    "unmoved_by_shuffling",
]

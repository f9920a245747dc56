"""Exercises of the chapter "Layers: what stands around attention"."""

from transformer_workbook.old_exercises.layers.encoder_layers import (
    encoder_layer,
)
from transformer_workbook.old_exercises.layers.layer_norm_derivatives import (
    layer_norm_derivative,
)
from transformer_workbook.old_exercises.layers.normalisation import rms_norm
from transformer_workbook.old_exercises.layers.random_stacks import (
    keeps_words_apart,
    pre_norm_growth,
)
from transformer_workbook.old_exercises.layers.residuals import pre_norm_stack
from transformer_workbook.old_exercises.layers.shortcuts import stack_derivatives

__all__ = [
    "encoder_layer",
    "keeps_words_apart",
    "layer_norm_derivative",
    "pre_norm_growth",
    "pre_norm_stack",
    "rms_norm",
    "stack_derivatives",
]

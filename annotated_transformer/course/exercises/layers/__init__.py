"""Exercises of the chapter "Layers: what stands around attention"."""

from annotated_transformer.course.exercises.layers.normalisation import (
    feed_forward,
    layer_norm,
)
from annotated_transformer.course.exercises.layers.residuals import (
    post_norm_stack,
    pre_norm_stack,
)
from annotated_transformer.course.exercises.layers.slopes import (
    layer_parameters,
    stack_slopes,
)

__all__ = [
    "feed_forward",
    "layer_norm",
    "stack_slopes",
    "post_norm_stack",
    "pre_norm_stack",
    "layer_parameters",
]

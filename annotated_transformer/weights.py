"""Weights: the tensors that determine what a model computes, taken out of it and put in again."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from annotated_transformer.ground.errors import InputError


def buffers_of(model: nn.Module) -> dict[str, Tensor]:
    """Return the buffers that are saved with the weights."""
    saved = model.state_dict()
    return {name: buffer for name, buffer in model.named_buffers() if name in saved}


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and saved buffers of a model, which determine what it computes.

    A parameter with several names is listed under one of them.
    """
    named = [*model.named_parameters(), *buffers_of(model).items()]
    return {name: tensor.detach() for name, tensor in named}


@torch.no_grad()
def load_tensors(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load into a model the tensors of :func:`tensors_of`.

    Raises:
        InputError: if one is missing, does not belong to this model, or has another shape.
    """
    own = tensors_of(model)
    if other := sorted(own.keys() ^ tensors.keys()):
        state = "missing" if other[0] in own else "not a tensor of the model"
        raise InputError(f"{other[0]} is {state}: the weights are those of another model.")
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape:
            raise InputError(
                f"{name} has the shape {list(tensors[name].shape)}, the model's is "
                f"{list(tensor.shape)}."
            )
        tensor.copy_(tensors[name])

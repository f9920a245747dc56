"""Eight bits: a matrix as integers from -127 to 127, and a scale for each of its rows."""

from collections.abc import Mapping

import torch
from torch import Tensor

from annotated_transformer.ground.errors import InputError
from annotated_transformer.run.checkpoint import halved

SCALE = ".scale"
"""The scales of a matrix are a vector with its name and this ending."""

LEVELS = torch.iinfo(torch.int8).max


def quantised(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Round every matrix to 8 bits: its row ``i`` is about ``scale[i]`` times its integers.

    The number of a row that is furthest from zero becomes 127 or -127. Vectors (biases, the factors
    of norms), of which there are few, are in half precision.

    Raises:
        InputError: if a number of a matrix is not finite, or one of a vector does not fit into 16
            bits.
    """
    rounded = halved({name: tensor for name, tensor in tensors.items() if tensor.dim() < 2})
    for name, matrix in tensors.items():
        if name in rounded:
            continue
        scale = matrix.detach().float().abs().amax(dim=1) / LEVELS
        if not scale.isfinite().all():
            raise InputError(f"{name} has a number that is not finite: it cannot be scaled.")
        divisor = torch.where(scale > 0, scale, 1)  # a row of zeros stays one
        rounded[name] = (matrix.detach() / divisor[:, None]).round().to(torch.int8)
        rounded[name + SCALE] = scale
    return rounded


def restored(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Undo :func:`quantised`, but for the rounding: all numbers in single precision."""
    return {
        name: tensor.float() * tensors[name + SCALE][:, None]
        if tensor.dtype == torch.int8
        else tensor.float()
        for name, tensor in tensors.items()
        if not (name.endswith(SCALE) and name.removesuffix(SCALE) in tensors)
    }

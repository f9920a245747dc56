"""The memory footprint of a training, so that one that cannot fit is refused."""

import psutil
import torch
from torch import nn

from annotated_transformer.ground.errors import InputError

COPIES = 5
"""Copies of every weight: itself, its gradient, two moments of Adam, the running average."""


def needed_memory(model: nn.Module, batch_tokens: int, tgt_vocab: int) -> int:
    """Estimate the bytes that a training needs at least, in float32.

    It counts the copies of the weights and three of the largest activation, the logits: the
    logits, their softmax and its gradient. The other activations come on top.
    """
    weights = sum(parameter.numel() for parameter in model.parameters())
    fixed = sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
    return 4 * (COPIES * weights + 3 * batch_tokens * tgt_vocab) + fixed


def memory_of(device: torch.device) -> int:
    """Return the bytes of memory of the device."""
    module = torch.get_device_module(device)
    if hasattr(module, "mem_get_info"):
        total: int = module.mem_get_info(device)[1]
        return total
    return psutil.virtual_memory().total


def require_memory(
    model: nn.Module, batch_tokens: int, tgt_vocab: int, device: torch.device
) -> None:
    """Refuse a training that does not fit into memory.

    Raises:
        InputError: if it needs more than the device has.
    """
    needed, there = needed_memory(model, batch_tokens, tgt_vocab), memory_of(device)
    if needed > there:
        raise InputError(
            f"this training needs at least {needed / 1e9:,.1f} GB of memory, {device} has "
            f"{there / 1e9:,.1f}: use a smaller model, vocabulary or batch."
        )

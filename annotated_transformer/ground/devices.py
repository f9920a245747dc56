"""Devices: where tensors are, in which precision they are multiplied, what is drawn next there."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from annotated_transformer.ground.errors import InputError, require_choice

CPU = "cpu"
DEVICES = ("auto", CPU, "cuda", "mps")
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}
"""The number format of matrix products, by name; ``None``: that of the weights."""

Model = TypeVar("Model", bound=nn.Module)


def choose_device(name: str = "auto") -> torch.device:
    """Return the device of that name; ``auto`` is the accelerator if there is one, else the CPU.

    Raises:
        InputError: if the name is not one of ``DEVICES``, or this machine has no such device.
    """
    require_choice("device", name, DEVICES)
    if name == "auto":
        found = torch.accelerator.current_accelerator(check_available=True)
        return found or torch.device(CPU)
    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:
        raise InputError(f"device is {name!r}, but PyTorch finds none here: use auto.") from error
    return torch.device(name)


def device_of(model: nn.Module) -> torch.device:
    """Return the device of the model's parameters; without any, the default device."""
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.empty(0).device


def move(model: Model, device: torch.device) -> Model:
    """Move the model to that device."""
    if device.type == "mps":  # it has no float64, in which the sinusoids are kept
        return model.to(device, torch.float32)
    return model.to(device)


@contextmanager
def same_randomness() -> Iterator[None]:
    """Restore the random number generators after the block, in which seeds may be set."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        yield


def random_states(device: torch.device) -> dict[str, Tensor]:
    """Return the states of PyTorch's random number generators by name, the device's included."""
    states = {"random": torch.get_rng_state()}
    of_device = torch.get_device_module(device)
    if hasattr(of_device, "get_rng_state"):
        states[f"random.{device.type}"] = of_device.get_rng_state()
    return states


def set_random_states(states: dict[str, Tensor], device: torch.device) -> None:
    """Set the generators of this device to the states that :func:`random_states` returned."""
    torch.set_rng_state(states["random"])
    if f"random.{device.type}" in states:
        torch.get_device_module(device).set_rng_state(states[f"random.{device.type}"])


@contextmanager
def computing_in(precision: str, device: torch.device) -> Iterator[None]:
    """Multiply matrices in that precision inside the block; the weights keep theirs.

    Source: Micikevicius et al. 2018; bfloat16: Kalamkar et al. 2019.

    Raises:
        InputError: if the precision is not one of ``PRECISIONS``.
    """
    require_choice("precision", precision, PRECISIONS)
    if (dtype := PRECISIONS[precision]) is None:
        yield
        return
    # The fused kernel of attention is slow in bfloat16 on a CPU, above all in the backward pass.
    kernel = sdpa_kernel(SDPBackend.MATH) if device.type == CPU else nullcontext()
    with torch.autocast(device.type, dtype), kernel:
        yield

"""Checkpoints: weights, and all that a training needs to go on, in files never half-written."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from annotated_transformer.errors import DivergedError, InputError
from annotated_transformer.run.description import run_of
from annotated_transformer.run.files import replacing
from annotated_transformer.training import Trainer, buffers_of, tensors_of


def save_checkpoint(
    path: Path, tensors: Mapping[str, Tensor], progress: Mapping[str, Any] | None = None
) -> None:
    """Write tensors and, as JSON in the same file's header, the progress that belongs to them.

    They are bound to the run in whose folder they are.

    Raises:
        OSError: if they cannot be written; what was there before stays.
    """
    whole, places = dict[str, Tensor](), set[int]()
    for name, tensor in tensors.items():
        kept = tensor.detach().contiguous()
        place = kept.untyped_storage().data_ptr()
        whole[name] = kept.clone() if place in places else kept  # a file holds no views
        places.add(place)
    header = {"progress": json.dumps(progress or {})}
    header["sha256"] = checksum(whole, header["progress"])
    if run := run_of(path.parent):
        header["run"] = run
    with replacing(path) as new:
        try:
            save_file(whole, new, metadata=header)
        except SafetensorError as error:  # also where the system says that the disk is full
            raise OSError(str(error)) from error


def save_halved(path: Path, model: nn.Module) -> None:
    """Write the weights alone, in half precision (16 bits instead of 32), to translate with them.

    Raises:
        InputError: if a number has no room in 16 bits.
        OSError: if they cannot be written; what was there before stays.
    """
    weights = {name: parameter.half() for name, parameter in model.named_parameters()}
    for name, tensor in model.named_parameters():
        if not weights[name].isfinite().all():
            raise InputError(
                f"{name} has numbers up to {tensor.abs().max():.3g}, it must have none above "
                f"{torch.finfo(torch.float16).max:,.0f} to be written in 16 bits."
            )
    save_checkpoint(path, buffers_of(model) | weights, {"exported": True})


def require_finite(trainer: Trainer) -> None:
    """Make sure that weights and their average are such as a training can go on with.

    Raises:
        DivergedError: if one is not finite.
    """
    weights = dict(trainer.model.named_parameters())
    averages = (trainer.average.weights[name] for name in weights)
    if not all(weight.isfinite().all() for weight in (*weights.values(), *averages)):
        raise DivergedError(
            f"after step {trainer.steps} the weights are no longer finite: training diverged, "
            "lower the learning rate (peak_rate in a recipe)."
        )


def checksum(tensors: Mapping[str, Tensor], progress: str) -> str:
    """A SHA-256 of tensors, their names, types and shapes, and of the progress beside them."""
    digest = sha256(progress.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def load_checkpoint(path: Path, of_run: bool = True) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_checkpoint` wrote; with ``of_run``, in the folder of this run.

    Raises:
        InputError: if there is no such file, it is no checkpoint, its checksum is not right, or it
            is of another run than the one in whose folder it is.
    """
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header, progress = file.metadata(), _progress(file)
    if "sha256" not in header:
        raise InputError(f"{path} has no SHA-256 of its weights: it is older than 0.2, or damaged.")
    if header["sha256"] != checksum(tensors, header["progress"]):
        raise InputError(f"{path} is damaged: the SHA-256 of its weights is not the one in it.")
    if of_run and (run := run_of(path.parent)) and header.get("run") != run:
        raise InputError(
            f"{path} does not fit {path.with_name('recipe.json')}: it is of another run."
        )
    return tensors, progress


def load_progress(path: Path) -> dict[str, Any]:
    """Read the progress alone.

    Raises:
        InputError: if there is no such file or it is no checkpoint.
    """
    with _opened(path) as file:
        return _progress(file)


def require_fit(tensors: Mapping[str, Tensor], model: nn.Module, path: Path) -> None:
    """Make sure that weights are those of a model.

    Raises:
        InputError: if their names or shapes are not those of its parameters and buffers, or one is
            no float where it must be.
    """
    wanted = tensors_of(model)
    found = {name: tensor.shape for name, tensor in tensors.items()}
    if found != {name: tensor.shape for name, tensor in wanted.items()}:
        raise InputError(f"{path} does not fit {path.with_name('recipe.json')}.")
    for name, tensor in tensors.items():
        if wanted[name].is_floating_point() and not tensor.is_floating_point():
            raise InputError(f"{path} has {name} of {tensor.dtype}, it must be of floats.")


def require_state(tensors: Mapping[str, Tensor], trainer: Trainer, path: Path) -> None:
    """Make sure that tensors are all that a fresh trainer needs to go on, and nothing else.

    What its optimiser keeps is seen after a step; it changes the trainer, which is loaded anyway.

    Raises:
        InputError: if one is missing, has another shape, or belongs to another trainer.
    """
    for parameter in trainer.model.parameters():
        parameter.grad = torch.zeros_like(parameter) if parameter.requires_grad else None
    trainer.optimizer.step()
    wanted, found = (
        {
            name: f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
            for name, tensor in some.items()
            if not re.match(r"(process\.\d+\.)?random\.", name)  # of a device: not of another
        }
        for some in (trainer.tensors(), tensors)
    )
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise InputError(
                f"{path} does not fit {path.with_name('recipe.json')}: its {name} is "
                f"{found.get(name, 'missing')}, it must be {wanted.get(name, 'missing')}."
            )


def load_state(tensors: Mapping[str, Tensor], trainer: Trainer, steps: int, path: Path) -> None:
    """Let a fresh trainer go on from the tensors of a checkpoint, after so many steps.

    Raises:
        InputError: as for :func:`require_state`, or if no generator of random numbers goes on.
    """
    require_state(tensors, trainer, path)
    try:
        trainer.load(dict(tensors), steps)
    except (RuntimeError, TypeError) as error:  # all shapes fit: it is a generator's state
        raise InputError(
            f"{path} is damaged: its random numbers cannot go on ({error})."
        ) from error


def _progress(file: Any) -> dict[str, Any]:
    progress = json.loads(file.metadata()["progress"])
    if not isinstance(progress, dict):
        raise TypeError(f"its progress is {progress!r}")
    return progress


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise InputError(f"there is no {path}: the run has not saved it yet.")
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a checkpoint of a run ({error}).") from error

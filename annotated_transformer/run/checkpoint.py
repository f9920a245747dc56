"""Checkpoints: the weights and the state that a training needs to resume, never half-written."""

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

from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.ground.inputs import require_content
from annotated_transformer.run.description import run_of
from annotated_transformer.run.files import replacing
from annotated_transformer.training import Trainer
from annotated_transformer.weights import buffers_of, tensors_of


def save_checkpoint(
    path: Path, tensors: Mapping[str, Tensor], progress: Mapping[str, Any] | None = None
) -> None:
    """Write tensors and, as JSON in the same file's header, the progress of the training.

    They are bound to the run in whose folder they are.

    Raises:
        OSError: if they cannot be written; the previous file stays.
    """
    whole, places = dict[str, Tensor](), set[int]()
    for name, tensor in tensors.items():
        kept = tensor.detach().contiguous()
        place = kept.untyped_storage().data_ptr()
        whole[name] = kept.clone() if place in places else kept  # a file cannot store views
        places.add(place)
    header = {"progress": json.dumps(progress or {})}
    header["sha256"] = checksum(whole, header["progress"])
    if run := run_of(path.parent):
        header["run"] = run
    with replacing(path) as new:
        try:
            save_file(whole, new, metadata=header)
        except SafetensorError as error:  # also raised when the disk is full
            raise OSError(str(error)) from error


def save_halved(path: Path, model: nn.Module) -> None:
    """Write only the weights, in half precision (16 bits instead of 32), for translating.

    Raises:
        InputError: if a number does not fit into 16 bits.
        OSError: if they cannot be written; the previous file stays.
    """
    weights = halved(dict(model.named_parameters()))
    save_checkpoint(path, buffers_of(model) | weights, {"exported": True})


def halved(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Round tensors to half precision.

    Raises:
        InputError: if a number does not fit into 16 bits.
    """
    halves = {name: tensor.half() for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        if not halves[name].isfinite().all():
            raise InputError(
                f"{name} has numbers up to {tensor.abs().max():.3g}, they must not exceed "
                f"{torch.finfo(torch.float16).max:,.0f} to be written in 16 bits."
            )
    return halves


def require_finite(trainer: Trainer) -> None:
    """Refuse weights, or their average, with which a training cannot continue.

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
    """Compute a SHA-256 of tensors, their names, types and shapes, and of the progress."""
    digest = sha256(progress.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def load_checkpoint(path: Path, of_run: bool = True) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_checkpoint` wrote; with ``of_run``, in the folder of this run.

    Raises:
        InputError: if there is no such file, it is not a checkpoint, its checksum is wrong, or it
            belongs to another run than the one in whose folder it is.
    """
    with _opened(path) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header, progress = file.metadata(), _progress(file)
    if "sha256" not in header:
        raise InputError(f"{path} has no SHA-256 of its weights: it is older than 0.2, or damaged.")
    if header["sha256"] != checksum(tensors, header["progress"]):
        raise InputError(f"{path} is damaged: the SHA-256 of its weights is not the stored one.")
    if of_run and (run := run_of(path.parent)) and header.get("run") != run:
        raise InputError(
            f"{path} does not fit {path.with_name('recipe.json')}: it belongs to another run."
        )
    return tensors, progress


def load_progress(path: Path) -> dict[str, Any]:
    """Read only the progress.

    Raises:
        InputError: if there is no such file or it is not a checkpoint.
    """
    with _opened(path) as file:
        return _progress(file)


def require_fit(tensors: Mapping[str, Tensor], model: nn.Module, path: Path) -> None:
    """Refuse weights that are not those of a model.

    Raises:
        InputError: if their names or shapes are not those of its parameters and buffers, or one is
            not a float where it must be.
    """
    wanted = tensors_of(model)
    found = {name: tensor.shape for name, tensor in tensors.items()}
    if found != {name: tensor.shape for name, tensor in wanted.items()}:
        raise InputError(f"{path} does not fit {path.with_name('recipe.json')}.")
    for name, tensor in tensors.items():
        if wanted[name].is_floating_point() and not tensor.is_floating_point():
            raise InputError(f"{path} has {name} of {tensor.dtype}, it must be of floats.")


def require_state(tensors: Mapping[str, Tensor], trainer: Trainer, path: Path) -> None:
    """Refuse tensors that are not exactly those that a new trainer needs to resume.

    The state of its optimiser is known only after a step, which changes the trainer.

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
            if not re.match(r"(process\.\d+\.)?random\.", name)  # of a device: may be another
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
    """Resume a new trainer from the tensors of a checkpoint, after that many steps.

    Raises:
        InputError: as for :func:`require_state`, or if the state of a random generator is invalid.
    """
    require_state(tensors, trainer, path)
    try:
        trainer.load(dict(tensors), steps)
    except (RuntimeError, TypeError) as error:  # all shapes fit: it is a generator's state
        raise InputError(
            f"{path} is damaged: its random number generators are invalid ({error})."
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
    require_content(path)
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a checkpoint of a run ({error}).") from error

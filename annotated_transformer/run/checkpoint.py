"""Checkpoints: weights, and all that a training needs to go on, in files never half-written."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from annotated_transformer.errors import InputError


def save_checkpoint(
    path: Path, tensors: Mapping[str, Tensor], progress: Mapping[str, Any] | None = None
) -> None:
    """Write tensors and, as JSON in the same file's header, the progress that belongs to them.

    Raises:
        OSError: if they cannot be written; what was there before stays.
    """
    unfinished = path.with_name(path.name + ".unfinished")
    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(whole, unfinished, metadata={"progress": json.dumps(progress or {})})
    except SafetensorError as error:  # also where the system says that the disk is full
        raise OSError(f"{path} could not be written ({error}).") from error
    unfinished.replace(path)


def save_halved(path: Path, model: nn.Module) -> None:
    """Write the weights alone, in half precision (16 bits instead of 32), to translate with them.

    Raises:
        OSError: if they cannot be written; what was there before stays.
    """
    weights = {name: tensor.half() for name, tensor in model.named_parameters()}
    save_checkpoint(path, weights, {"exported": True})


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_checkpoint` wrote.

    Raises:
        InputError: if there is no such file or it is no checkpoint.
    """
    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, _progress(file)  # noqa: SIM118


def load_progress(path: Path) -> dict[str, Any]:
    """Read the progress alone.

    Raises:
        InputError: if there is no such file or it is no checkpoint.
    """
    with _opened(path) as file:
        return _progress(file)


def load_weights(path: Path, model: nn.Module) -> None:
    """Give a model the weights in a file.

    Raises:
        InputError: if there is no such file, or it holds those of another model.
    """
    tensors, _ = load_checkpoint(path)
    require_fit(tensors, model, path)
    model.load_state_dict(tensors, strict=False)  # shared weights stand under one name only


def require_fit(
    tensors: Mapping[str, Tensor], model: nn.Module, path: Path, prefix: str = ""
) -> None:
    """Make sure that the weights whose names begin with ``prefix`` are those of a model.

    Raises:
        InputError: if their names or shapes are not those of its parameters.
    """
    found = {n.removeprefix(prefix): t.shape for n, t in tensors.items() if n.startswith(prefix)}
    if found != {name: parameter.shape for name, parameter in model.named_parameters()}:
        raise InputError(f"{path} does not fit {path.with_name('recipe.json')}.")


def _progress(file: Any) -> dict[str, Any]:
    progress: dict[str, Any] = json.loads(file.metadata()["progress"])
    return progress


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise InputError(f"there is no {path}: the run has not saved it yet.")
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a checkpoint of a run ({error}).") from error

"""Checkpoints: all that a training needs to go on, in one file that is never half-written."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from annotated_transformer.errors import InputError


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that, whenever the program stops, the old or the new one is there."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def save_checkpoint(path: Path, tensors: dict[str, Tensor], progress: dict[str, Any]) -> None:
    """Write tensors and, as JSON in the same file's header, the progress that belongs to them."""
    unfinished = path.with_name(path.name + ".unfinished")
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(tensors, unfinished, metadata={"progress": json.dumps(progress)})
    unfinished.replace(path)


def load_checkpoint(path: Path, prefix: str = "") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors whose name begins with ``prefix``, without it, and the progress.

    Raises:
        InputError: if there is no such file or it is no checkpoint.
    """
    with _opened(path) as file:
        names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
        tensors = {name.removeprefix(prefix): file.get_tensor(name) for name in names}
        return tensors, _progress(file)


def load_progress(path: Path) -> dict[str, Any]:
    """Read the progress alone.

    Raises:
        InputError: if there is no such file or it is no checkpoint.
    """
    with _opened(path) as file:
        return _progress(file)


def _progress(file: Any) -> dict[str, Any]:
    progress: dict[str, Any] = json.loads(file.metadata()["progress"])
    return progress


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise InputError(f"there is no checkpoint {path}: the run has not saved one yet.")
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a checkpoint of a run ({error}).") from error

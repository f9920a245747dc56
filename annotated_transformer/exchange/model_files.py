"""Model files: the settings and tensors of a folder in the format of Hugging Face."""

from pathlib import Path
from typing import Any

from jaxtyping import Shaped
from safetensors.torch import load_file
from torch import Tensor

from annotated_transformer.errors import InputError
from annotated_transformer.exchange.marian_files import read_json
from annotated_transformer.inputs import require_content
from annotated_transformer.settings import BRIEF

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


def read_config(folder: Path) -> dict[str, Any]:
    """Read the settings in ``config.json``.

    Raises:
        InputError: if it is missing or damaged, or asks for code of the folder to be run.
    """
    given = read_json(folder / "config.json")
    if "auto_map" in given:
        raise InputError(
            f"{folder / 'config.json'} has auto_map, it must not: code from a model's folder is "
            "never run."
        )
    return given


def read_tensors(folder: Path) -> dict[str, Shaped[Tensor, "..."]]:
    """Read all tensors by name, from ``model.safetensors`` or the shards that its index lists.

    Raises:
        InputError: if there are none, only a pickle is there, a shard is missing, or a file is
            damaged.
    """
    names = [WEIGHTS]
    if not (folder / WEIGHTS).exists():
        if (folder / INDEX).exists():
            names = _shards(folder / INDEX)
        elif pickles := sorted(folder.glob("*.bin")):
            raise InputError(
                f"{pickles[0]} is a pickle, which could run any code when it is opened: convert "
                f"it to {WEIGHTS}."
            )
    tensors: dict[str, Tensor] = {}
    for name in names:
        require_content(folder / name)
        try:
            tensors |= load_file(folder / name)
        except Exception as error:  # safetensors has its own exceptions, for each kind of damage
            told = str(error).partition("\n")[0]
            raise InputError(f"{folder / name} cannot be read ({told}).") from error
    return tensors


def _shards(index: Path) -> list[str]:
    """Read the file names of the shards, each of a file beside the index."""
    listed = read_json(index).get("weight_map")
    if not isinstance(listed, dict):
        raise InputError(f"{index} has no weight_map, it must list the file of every tensor.")
    for name in listed.values():
        if not isinstance(name, str) or Path(name).name != name:
            raise InputError(
                f"{index} lists {BRIEF.repr(name)}, it must be the name of a file beside it."
            )
    return [*dict.fromkeys(listed.values())]

"""Model files: the settings and tensors of a folder in the format of Hugging Face."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Shaped
from safetensors.torch import load_file
from torch import Tensor

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_content
from annotated_transformer.ground.settings import BRIEF, Settings, build

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
REAL = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

ACTIVATIONS = {"relu": "relu"} | dict.fromkeys(["silu", "swish"], "swish")
ACTIVATIONS |= dict.fromkeys(["gelu", "gelu_python"], "gelu")
ACTIVATIONS |= dict.fromkeys(
    ["gelu_new", "gelu_fast", "gelu_accurate", "gelu_pytorch_tanh", "gelu_python_tanh"], "gelu_tanh"
)
"""Their names of activations, and ours."""

WITHOUT = (
    "add_cross_attention", "add_final_layer_norm", "attention_bias", "attention_chunk_size",
    "attention_multiplier", "attn_logit_softcapping", "clip_qkv", "embedding_multiplier",
    "final_logit_softcapping", "logit_scale", "logits_scaling", "mlp_bias",
    "no_rope_layers", "normalize_before", "normalize_embedding", "per_layer_config",
    "query_pre_attn_scalar", "residual_multiplier", "rope_parameters", "rope_scaling",
    "scale_attn_by_inverse_layer_idx", "sliding_window",
)  # fmt: skip
"""Settings of models that compute other numbers than ours, if they are given."""


def read_config(folder: Path) -> dict[str, Any]:
    """Read the settings in ``config.json``.

    Raises:
        InputError: if it is missing or damaged, asks for code of the folder to be run, or says that
            the weights are quantised.
    """
    path = folder / "config.json"
    given = read_json(path)
    for name, reason in (
        ("auto_map", "code from a model's folder is never run"),
        ("quantization_config", "its weights are quantised, take those from which they were made"),
    ):
        if given.get(name):
            raise InputError(f"{path} has {name}, it must not: {reason}.")
    for group in ("rope_scaling", "rope_parameters"):
        rope = given.get(group)
        if isinstance(rope, dict) and not any(isinstance(value, dict) for value in rope.values()):
            given |= {f"{group}.{name}": value for name, value in given.pop(group).items()}
    return given


def settings_of(
    kind: type[Settings], given: dict[str, Any], required: dict[str, Any], names: dict[str, str]
) -> Settings:
    """Build the settings of a kind of model from those that :func:`read_config` read.

    Settings of ``required`` have that value, if they are given; of ``names`` each means the same as
    another. Those that are left do not change what the model computes.

    Raises:
        InputError: if one is missing, has another value than our model can have, or has two.
    """
    own: dict[str, Any] = {}
    places: dict[str, str] = {}
    for place, value in given.items():
        name = place.rpartition(".")[2]
        name = names.get(name, name)
        if (first := own.get(name)) is None:
            own[name], places[name] = value, place
        elif value not in (first, None):
            raise InputError(
                f"{places[name]} is {BRIEF.repr(first)} and {place} is {BRIEF.repr(value)}: they "
                "must be the same in our model."
            )
    for name, wanted in {**dict.fromkeys(WITHOUT, False), **required}.items():
        value = own.get(name, wanted)
        if value != wanted and (value or wanted):  # null and 0 are as good as False
            raise InputError(
                f"{places[name]} is {BRIEF.repr(value)}, our model can only have {wanted!r}."
            )
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return build(kind, {name: own[name] for name in known & own.keys()})


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        InputError: if there is no such file, it contains anything else, or a name has two values.
    """
    require_content(path)
    try:
        read = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_by_name)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read ({error}).") from error
    if not isinstance(read, dict):
        raise InputError(f"{path} holds a {type(read).__name__}, it must be values by name.")
    return read


def _by_name(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if twice := [name for name, value in pairs if [value] != [found[name]]]:  # nan is nan
        raise InputError(f"{BRIEF.repr(twice[0])} has two values")
    return found


def read_tensors(folder: Path) -> dict[str, Shaped[Tensor, "..."]]:
    """Read all tensors by name, from ``model.safetensors`` or the shards that its index lists.

    Raises:
        InputError: if there are none, only a pickle is there, a shard is missing, a file is
            damaged, or two shards have different tensors of one name.
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
    places: dict[str, str] = {}
    for name in names:
        require_content(folder / name)
        try:
            found = load_file(folder / name)
        except Exception as error:  # safetensors has its own exceptions, for each kind of damage
            told = str(error).partition("\n")[0]
            raise InputError(f"{folder / name} cannot be read ({told}).") from error
        for key in tensors.keys() & found.keys():
            require_equal(f"{key} in {places[key]}", tensors[key], f"in {name}", found[key])
        tensors |= found
        places |= dict.fromkeys(found, name)
    return tensors


def require_equal(one: str, first: Tensor, other: str, second: Tensor) -> None:
    """Refuse two tensors, so described, that differ and are one in the model.

    Raises:
        InputError: if their shapes or numbers differ.
    """
    if first.shape != second.shape or not ((first == second) | (first != first)).all():
        raise InputError(f"{one} and {other} differ, they must be equal: the model has one tensor.")


def require_numbers(name: str, tensor: object, shape: list[int] | None = None) -> None:
    """Refuse anything but a dense tensor of floating-point numbers, of this shape all finite.

    Without ``shape``, the numbers themselves are not looked at.

    Raises:
        InputError: if it is something else.
    """
    if not isinstance(tensor, Tensor) or (
        tensor.dtype not in REAL or tensor.layout != torch.strided or tensor.is_meta
    ):
        kind = getattr(tensor, "dtype", type(tensor).__name__)
        raise InputError(
            f"{name} is of the type {kind}, it must be a dense tensor of floating-point numbers "
            "that are not quantised."
        )
    if shape is None:
        return
    if [*tensor.shape] != shape:
        raise InputError(f"{name} has the shape {[*tensor.shape]}, it must be {shape}.")
    if not tensor.float().isfinite().all():
        raise InputError(f"{name} contains nan or inf, all numbers must be finite.")


def _shards(index: Path) -> list[str]:
    """Read the file names of the shards, each of a file beside the index."""
    listed = read_json(index).get("weight_map")
    if not isinstance(listed, dict):
        raise InputError(f"{index} has no weight_map, it must list the file of every tensor.")
    for name in listed.values():
        if not isinstance(name, str) or Path(name).name != name or not name.isprintable():
            raise InputError(
                f"{index} lists {BRIEF.repr(name)}, it must be the name of a file beside it."
            )
    return [*dict.fromkeys(listed.values())]

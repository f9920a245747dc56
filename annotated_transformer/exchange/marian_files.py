"""Marian's files: the settings, vocabularies and weights of a published model, unchanged."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
from jaxtyping import Float, Int
from pydantic import Field
from safetensors.torch import load_file
from torch import Tensor

from annotated_transformer.devices import CPU
from annotated_transformer.errors import InputError
from annotated_transformer.inputs import is_utf8, require_content
from annotated_transformer.run.sentence_pieces import SentencePieces
from annotated_transformer.settings import BRIEF, Share, Size, build, one_of
from annotated_transformer.tokens import SPECIALS

ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish"}
REQUIRED = {
    "model_type": "marian",
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}
"""The required values of settings, if they are given: there are Marian models of other kinds."""

ALIKE = ("layers", "attention_heads", "ffn_dim")
"""The settings in which encoder and decoder must agree."""


@dataclass(frozen=True)
class MarianSettings:
    """The settings of Marian that determine what a Transformer computes, or how it searches."""

    d_model: Size
    encoder_layers: Annotated[Size, Field(le=1000)]
    encoder_attention_heads: Size
    encoder_ffn_dim: Size
    # No sentence is longer, and a table of that many positions would fill the memory.
    max_position_embeddings: Annotated[Size, Field(le=100_000)]
    activation_function: Annotated[str, one_of(ACTIVATIONS)]
    pad_token_id: int
    eos_token_id: int
    decoder_start_token_id: int
    dropout: Share = 0.1
    num_beams: Annotated[Size, Field(le=1000)] | None = None
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True


class Side(NamedTuple):
    """The vocabulary of one side, and the index there of each of its tokens."""

    vocabulary: SentencePieces
    numbers: Int[Tensor, " vocab"]


def read_settings(source: Path) -> MarianSettings:
    """Read the settings in ``config.json``.

    Raises:
        InputError: if it is missing or damaged, or our Transformer cannot compute such a model.
    """
    given = read_json(source / "config.json")
    for name, value in REQUIRED.items():
        if (found := given.get(name, value)) != value:
            raise InputError(
                f"{name} is {BRIEF.repr(found)}, our Transformer can only have {value!r}."
            )
    for name in ALIKE:
        ours, theirs = (given.get(f"{stack}_{name}") for stack in ("encoder", "decoder"))
        if ours != theirs:
            raise InputError(
                f"encoder_{name} is {BRIEF.repr(ours)} and decoder_{name} is "
                f"{BRIEF.repr(theirs)}: they must be the same in our Transformer."
            )
    known = {field.name for field in fields(MarianSettings)}
    return build(MarianSettings, {name: given[name] for name in known & given.keys()})


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        InputError: if there is no such file, or it contains anything else.
    """
    require_content(path)
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read ({error}).") from error
    if not isinstance(read, dict):
        raise InputError(f"{path} holds a {type(read).__name__}, it must be values by name.")
    return read


def read_side(source: Path, model: str, listed: str, settings: MarianSettings) -> Side:
    """Read a vocabulary; its special tokens get our ids, the others follow in order.

    ``BOS`` is the token with which their decoder starts.

    Raises:
        InputError: if a file is missing or damaged, or contradicts the settings.
    """
    numbers = _read_numbers(source / listed)
    names = {number: token for token, number in numbers.items()}
    for name, token in (("pad_token_id", "<pad>"), ("eos_token_id", "</s>")):
        if (given := getattr(settings, name)) != numbers[token]:
            raise InputError(f"{name} is {given}, {source / listed} has {numbers[token]}.")
    start = settings.decoder_start_token_id
    if start not in names:
        raise InputError(f"decoder_start_token_id is {start}, {source / listed} has no such token.")
    first = [numbers["<pad>"], start, numbers["</s>"], numbers["<unk>"]]
    others = [number for number in sorted(names) if number not in (first[0], *first[2:])]
    require_content(source / model)
    try:
        tokens = [*SPECIALS, *(names[number] for number in others)]
        vocabulary = SentencePieces((source / model).read_bytes(), tokens)
    except InputError as error:
        raise InputError(f"{source / model}: {error}") from error
    known = sum(piece in numbers for piece in vocabulary.pieces)
    if 2 * known < len(vocabulary.pieces):
        raise InputError(
            f"{source / listed} has {known:,} of the {len(vocabulary.pieces):,} pieces of "
            f"{source / model}, it must have most of them: is it that of another model?"
        )
    return Side(vocabulary, torch.tensor([*first, *others]))


def _read_numbers(path: Path) -> dict[str, int]:
    numbers = read_json(path)
    for token, number in numbers.items():
        if not is_utf8(token):
            raise InputError(f"{path} has the token {BRIEF.repr(token)}, it must be UTF-8.")
        if type(number) is not int:  # isinstance would accept True, and 1.0 equals 1
            said = f"{BRIEF.repr(number)} of {BRIEF.repr(token)}"
            raise InputError(f"{path} says {said}, it must be an integer.")
    if sorted(numbers.values()) != [*range(len(numbers))] or not (
        {"<pad>", "</s>", "<unk>"} <= numbers.keys()
    ):
        raise InputError(
            f"{path} must number its tokens from 0, each once, with <pad>, </s> and <unk> in it."
        )
    return numbers


def read_weights(source: Path) -> dict[str, Float[Tensor, "..."]]:
    """Read the weights by name, from ``model.safetensors`` or else from ``pytorch_model.bin``.

    Raises:
        InputError: if there are none, or the file contains anything else.
    """
    stored, pickled = source / "model.safetensors", source / "pytorch_model.bin"
    path = stored if stored.exists() else pickled
    require_content(path)
    try:
        found: object = (
            load_file(stored)
            if path is stored
            else torch.load(pickled, map_location=CPU, weights_only=True)
        )
    except Exception as error:  # a damaged pickle may raise any exception
        # Of a pickle PyTorch advises to run whatever code is in it.
        told = str(error).partition("\n")[0] if path is stored else "damaged, or not only tensors"
        raise InputError(f"{path} cannot be read ({told}).") from error
    if not isinstance(found, Mapping):
        raise InputError(f"{path} holds a {type(found).__name__}, it must be tensors by name.")
    for name, weight in found.items():
        if not isinstance(name, str):
            raise InputError(f"{path} has the name {BRIEF.repr(name)}, it must be a text.")
        if not _is_plain(weight):
            kind = getattr(weight, "dtype", type(weight).__name__)
            raise InputError(
                f"{BRIEF.repr(name)} in {path} is of the type {kind}, it must be a dense tensor of "
                "floating-point numbers."
            )
    return dict(found)


def _is_plain(weight: object) -> bool:
    """Tell whether it is a dense tensor of floating-point numbers."""
    return (
        isinstance(weight, Tensor)
        and weight.is_floating_point()
        and weight.layout == torch.strided
        and not weight.is_meta
    )

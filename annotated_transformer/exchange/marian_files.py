"""Marian's files: the settings, vocabularies and weights of a published model, unchanged."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float, Int
from pydantic import Field
from safetensors.torch import load_file
from torch import Tensor

from annotated_transformer.exchange.model_files import (
    ACTIVATIONS,
    read_config,
    read_json,
    require_numbers,
    settings_of,
)
from annotated_transformer.ground.devices import CPU
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import is_utf8, require_content
from annotated_transformer.ground.settings import BRIEF, Share, Size, one_of
from annotated_transformer.run.sentence_pieces import SentencePieces
from annotated_transformer.tokens import SPECIALS

REQUIRED = {"model_type": "marian", "static_position_embeddings": True}
"""The required values of settings, if they are given: there are Marian models of other kinds."""

OTHER_NAMES = {
    "decoder_layers": "encoder_layers",
    "decoder_attention_heads": "encoder_attention_heads",
    "decoder_ffn_dim": "encoder_ffn_dim",
    "hidden_size": "d_model",
    "num_hidden_layers": "encoder_layers",
    "num_attention_heads": "encoder_attention_heads",
}
"""Other names of settings, and those of the decoder: ours has two stacks of the same sizes."""


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
    vocab_size: Size | None = None
    decoder_vocab_size: Size | None = None


class Side(NamedTuple):
    """The vocabulary of one side, and the index there of each of its tokens."""

    vocabulary: SentencePieces
    numbers: Int[Tensor, " vocab"]


def read_settings(source: Path) -> MarianSettings:
    """Read the settings in ``config.json``.

    Raises:
        InputError: if it is missing or damaged, or our Transformer cannot compute such a model.
    """
    return settings_of(MarianSettings, read_config(source), REQUIRED, OTHER_NAMES)


def read_side(source: Path, model: str, listed: str, settings: MarianSettings, size: str) -> Side:
    """Read a vocabulary; its special tokens get our ids, the others follow in order.

    ``BOS`` is the token with which their decoder starts; ``size`` the setting that counts all.

    Raises:
        InputError: if a file is missing or damaged, or contradicts the settings.
    """
    numbers = _read_numbers(source / listed)
    names = {number: token for token, number in numbers.items()}
    for name, wanted in (
        ("pad_token_id", numbers["<pad>"]),
        ("eos_token_id", numbers["</s>"]),
        (size, len(numbers)),
    ):
        if (given := getattr(settings, name)) not in (wanted, None):
            raise InputError(f"{name} is {given}, {source / listed} has {wanted:,}.")
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
        require_numbers(f"{BRIEF.repr(name)} in {path}", weight)
    return dict(found)

"""Marian's files: the settings, vocabularies and weights of a published model, as they are."""

import json
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from annotated_transformer.devices import CPU
from annotated_transformer.errors import InputError
from annotated_transformer.sentence_pieces import SentencePieces
from annotated_transformer.tokens import SPECIALS


class Side(NamedTuple):
    """The vocabulary of one side, and the number there of each of its tokens."""

    vocabulary: SentencePieces
    numbers: Int[Tensor, " vocab"]


def read_json(path: Path) -> dict[str, Any]:
    """The values by name in a file.

    Raises:
        InputError: if there is no such file, or it holds anything else.
    """
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read ({error}).") from error
    if not isinstance(read, dict):
        raise InputError(f"{path} holds a {type(read).__name__}, it must be values by name.")
    return read


def read_side(source: Path, model: str, listed: str, settings: Mapping[str, Any]) -> Side:
    """A vocabulary whose special tokens stand where ours do, the others behind them in order.

    ``BOS`` is the token with which their decoder starts.

    Raises:
        InputError: if a file is missing or damaged, or says other than the settings.
    """
    numbers = read_json(source / listed)
    names = {number: token for token, number in numbers.items()}
    if sorted(names) != list(range(len(names))) or not {"<pad>", "</s>", "<unk>"} <= set(numbers):
        raise InputError(
            f"{source / listed} must number its tokens from 0, with <pad>, </s> and <unk> in it."
        )
    for name, token in (("pad_token_id", "<pad>"), ("eos_token_id", "</s>")):
        if settings.get(name) != numbers[token]:
            raise InputError(
                f"{name} is {settings.get(name)}, {source / listed} has {numbers[token]}."
            )
    start = settings.get("decoder_start_token_id")
    if start not in names:
        raise InputError(f"decoder_start_token_id is {start}, {source / listed} has no such token.")
    first = [numbers["<pad>"], start, numbers["</s>"], numbers["<unk>"]]
    others = [number for number in sorted(names) if number not in (first[0], *first[2:])]
    try:
        proto = (source / model).read_bytes()
    except OSError as error:
        raise InputError(f"{source / model} cannot be read ({error}).") from error
    vocabulary = SentencePieces(proto, [*SPECIALS, *(names[number] for number in others)])
    return Side(vocabulary, torch.tensor([*first, *others]))


def read_weights(source: Path) -> dict[str, Tensor]:
    """The weights by their names, of ``model.safetensors`` or else of ``pytorch_model.bin``.

    Raises:
        InputError: if there are none, or the file holds anything that is no tensor.
    """
    stored, pickled = source / "model.safetensors", source / "pytorch_model.bin"
    try:
        if stored.exists():
            return load_file(stored)
        return dict(torch.load(pickled, map_location=CPU, weights_only=True))
    except (OSError, SafetensorError, RuntimeError, ValueError, UnpicklingError) as error:
        told = str(error).partition("\n")[0]
        raise InputError(f"the weights in {source} cannot be read ({told}).") from error

"""From Marian: import a published model of Hugging Face's Marian classes as a run."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.decoding import Search
from annotated_transformer.exchange.marian import halves, marian_names, reordered
from annotated_transformer.exchange.marian_files import (
    MarianSettings,
    Side,
    read_settings,
    read_side,
    read_weights,
)
from annotated_transformer.exchange.model_files import (
    ACTIVATIONS,
    read_json,
    require_equal,
    require_numbers,
)
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import StrPath, require_path
from annotated_transformer.ground.settings import BRIEF
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.run import Recipe, Run
from annotated_transformer.run.files import require_empty
from annotated_transformer.tokens import Vocabularies
from annotated_transformer.transformer import Transformer, TransformerConfig

TABLES = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
"""The names under which the matrices of tokens are stored, all or some of which may be one."""


def import_marian(source: StrPath, folder: StrPath, languages: str | None = None) -> Run:
    """Make a run, in an empty folder, from a model in the layout of OPUS-MT.

    That is a folder with ``config.json``, ``model.safetensors`` or ``pytorch_model.bin``,
    ``source.spm``, ``target.spm``, ``vocab.json``, and ``target_vocab.json`` where each language
    has its own vocabulary. The logits are the same, up to rounding. The run translates; its
    training cannot be resumed. Its languages are those in the model's name, as in
    ``opus-mt-de-en``, unless others are given.

    Raises:
        InputError: if the folder is not empty, a file is missing or damaged, our
            Transformer cannot compute such a model, the languages are not SRC-TGT or not those of
            the model's name, or sentencepiece is not installed.
    """
    require_empty(folder)
    source = require_path("source", source)
    languages = _languages(source, languages)
    settings = read_settings(source)
    src = read_side(source, "source.spm", "vocab.json", settings, "vocab_size")
    separate = (source / "target_vocab.json").exists()
    listed = "target_vocab.json" if separate else "vocab.json"
    tgt = read_side(source, "target.spm", listed, settings, "decoder_vocab_size")
    recipe = Recipe(
        "transformer",
        source.resolve().name,
        languages,
        subwords=len(tgt.vocabulary),
        search=Search(beam=settings.num_beams or 1),
        sizes=_sizes(settings, torch.equal(src.numbers, tgt.numbers)),
    )
    vocabularies = Vocabularies(src.vocabulary, tgt.vocabulary)
    config = recipe.make_config(*map(len, vocabularies))
    scale = 1.0 if settings.scale_embedding else config.d_model**-0.5
    theirs = with_every_name(read_weights(source), settings)
    weights = _weights(theirs, config, {"src": src, "tgt": tgt}, scale)
    return Run.from_weights(folder, recipe, vocabularies, weights)


def _languages(source: Path, given: str | None) -> str | None:
    """Return the languages given, or those that our export wrote, or those in the model's name."""
    pair = re.compile("[^-]+-[^-]+")
    if given is not None and not pair.fullmatch(given):
        raise InputError(f"languages is {given!r}, it must be SRC-TGT, for example de-en.")
    config = read_json(source / "config.json")
    names = f"{config.get('_name_or_path')} {source.resolve().name} "
    # A code of three letters, or in capitals, may be that of a group of languages.
    named = re.search(r"opus-mt-(?:[^/ ]*-)?([a-z]{2}-[a-z]{2}) ", names)
    found = config.get("languages") or (named and named[1])
    if not (isinstance(found, str) and pair.fullmatch(found)):
        return given
    if given not in (None, found):
        raise InputError(f"languages is {given!r}, the model is for {found!r}.")
    return found


def _sizes(settings: MarianSettings, one_numbering: bool) -> dict[str, Any]:
    """Return the sizes of our Transformer, by their names in its configuration."""
    # Where the output has its own matrix, theirs has separate tables for source and target.
    one_table = settings.share_encoder_decoder_embeddings and settings.tie_word_embeddings
    return {
        "d_model": settings.d_model,
        "num_layers": settings.encoder_layers,
        "num_heads": settings.encoder_attention_heads,
        "d_ff": settings.encoder_ffn_dim,
        "activation": ACTIVATIONS[settings.activation_function],
        "dropout": settings.dropout,
        "max_length": settings.max_position_embeddings,
        "share_embeddings": one_table and one_numbering,
        # Our embeddings are always scaled: if theirs are not, the output needs its own matrix.
        "tie_output": settings.tie_word_embeddings and settings.scale_embedding,
    }


def _weights(
    theirs: Mapping[str, Float[Tensor, "..."]],
    config: TransformerConfig,
    sides: Mapping[str, Side],
    embedding_scale: float,
) -> dict[str, Float[Tensor, "..."]]:
    """Rename their weights, and reorder dimensions and tokens, for our model."""
    names, found, weights = marian_names(config), {}, {}
    numbers = {
        our: sides["src" if our.startswith("src") else "tgt"].numbers
        for our in names
        if "embedding" in our or our.startswith("output.")
    }
    for name in sorted(theirs.keys() - set(names.values())):
        if "layer" in name:
            raise InputError(
                f"{BRIEF.repr(name)} does not belong to a model of the sizes in config.json."
            )
    for their in names.values():
        if their not in theirs:
            raise InputError(f"there is no weight {their}.")
    with torch.device("meta"):  # which takes seconds, if there are hundreds of layers
        wanted = {name: list(p.shape) for name, p in Transformer(config).named_parameters()}
    for our, their in names.items():
        weight = theirs[their]
        if our == "output.bias":
            weight = weight.flatten()
        if our in numbers:
            wanted[our][0] = int(numbers[our].max()) + 1
        require_numbers(their, weight, wanted[our])
        found[our] = weight.float()
    order = halves(config.d_model)
    _require_sinusoids(theirs, sinusoidal_encoding(config.max_length, config.d_model)[:, order])
    for our, weight in found.items():
        if our in numbers:
            weight = weight[numbers[our]]
        if "embedding" in our:
            weight = weight * embedding_scale
        weights[our] = reordered(our, weight, order.argsort())
    return weights


def with_every_name(theirs: Mapping[str, Tensor], settings: MarianSettings) -> Mapping[str, Tensor]:
    """Give the matrix that is tied all its names.

    Raises:
        InputError: if it is stored under two of them with different numbers.
    """
    if not settings.tie_word_embeddings:
        return theirs
    tied = TABLES if settings.share_encoder_decoder_embeddings else TABLES[2:]
    first, *others = [name for name in tied if name in theirs] or tied[:1]
    for other in others:
        require_equal(first, theirs[first], other, theirs[other])
    return {**theirs, **{name: theirs[first] for name in tied if first in theirs}}


def _require_sinusoids(
    theirs: Mapping[str, Tensor], table: Float[Tensor, "length d_model"]
) -> None:
    for stack in ("encoder", "decoder"):
        name = f"model.{stack}.embed_positions.weight"
        found = theirs.get(name)
        if found is not None and not (
            found.shape == table.shape and torch.allclose(found.double(), table, atol=1e-3)
        ):
            raise InputError(f"{name} is not sinusoidal, it must be for our Transformer.")

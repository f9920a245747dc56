"""From Marian: a published translation model of Hugging Face's Marian classes as a run of ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.errors import InputError, require_choice
from annotated_transformer.exchange.marian import halves, marian_names, reordered
from annotated_transformer.exchange.marian_files import Side, read_json, read_side, read_weights
from annotated_transformer.files import require_empty
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.run import Recipe, Run
from annotated_transformer.search import Search
from annotated_transformer.tokens import Vocabularies
from annotated_transformer.transformer import TransformerConfig

ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish"}
REQUIRED = {
    "model_type": "marian",
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}
"""What the settings have to be where they are given: there are Marian models of other kinds."""

ALIKE = ("layers", "attention_heads", "ffn_dim")
"""What encoder and decoder have to have alike."""

OTHER_NAMES = {
    "model.encoder.embed_tokens.weight": ["model.shared.weight"],
    "model.decoder.embed_tokens.weight": ["model.shared.weight", "lm_head.weight"],
    "lm_head.weight": ["model.decoder.embed_tokens.weight", "model.shared.weight"],
}
"""Under which other name a matrix may be stored that serves in several places."""


def import_marian(source: Path, folder: Path) -> Run:
    """Make a run in an empty folder of a model in the layout in which OPUS-MT is published.

    That is a folder with ``config.json``, ``model.safetensors`` or ``pytorch_model.bin``,
    ``source.spm``, ``target.spm``, ``vocab.json``, and ``target_vocab.json`` where the languages
    have a vocabulary each. The logits are the same, to rounding. The run translates; its training
    cannot go on.

    Raises:
        InputError: if there is something in the folder already, a file is missing or damaged, our
            Transformer cannot compute such a model, or sentencepiece is not installed.
    """
    require_empty(folder)
    settings = read_json(source / "config.json")
    sizes = _sizes(settings)
    src = read_side(source, "source.spm", "vocab.json", settings)
    separate = (source / "target_vocab.json").exists()
    tgt = read_side(
        source, "target.spm", "target_vocab.json" if separate else "vocab.json", settings
    )
    recipe = Recipe(
        "transformer",
        source.resolve().name,
        subwords=len(tgt.vocabulary),
        search=Search(beam=settings.get("num_beams") or 1),
        sizes=sizes,
    )
    vocabularies = Vocabularies(src.vocabulary, tgt.vocabulary)
    config = recipe.make_config(*map(len, vocabularies))
    scale = 1.0 if settings.get("scale_embedding") else config.d_model**-0.5
    weights = _weights(read_weights(source), config, {"src": src, "tgt": tgt}, scale)
    return Run.take_over(folder, recipe, vocabularies, weights)


def _sizes(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes of our Transformer, by the names in its configuration."""
    for name, value in REQUIRED.items():
        if (given := settings.get(name, value)) != value:
            raise InputError(f"{name} is {given!r}, our Transformer can only have {value!r}.")
    for name in ALIKE:
        ours, theirs = (settings.get(f"{stack}_{name}") for stack in ("encoder", "decoder"))
        if ours != theirs:
            raise InputError(
                f"encoder_{name} is {ours} and decoder_{name} is {theirs}: our Transformer has "
                "the same in both."
            )
    require_choice("activation_function", str(settings.get("activation_function")), ACTIVATIONS)
    scaled = settings.get("scale_embedding", False)
    return {
        "d_model": settings.get("d_model"),
        "num_layers": settings.get("encoder_layers"),
        "num_heads": settings.get("encoder_attention_heads"),
        "d_ff": settings.get("encoder_ffn_dim"),
        "activation": ACTIVATIONS[settings["activation_function"]],
        "dropout": settings.get("dropout", 0.1),
        "max_length": settings.get("max_position_embeddings"),
        "share_embeddings": settings.get("share_encoder_decoder_embeddings", True),
        # Our embeddings are always scaled: where theirs are not, the output needs its own matrix.
        "tie_output": settings.get("tie_word_embeddings", True) and scaled,
    }


def _weights(
    theirs: Mapping[str, Tensor],
    config: TransformerConfig,
    sides: Mapping[str, Side],
    embedding_scale: float,
) -> dict[str, Float[Tensor, "..."]]:
    """Their weights by our names, for vectors in our order and tokens with our numbers."""
    order = halves(config.d_model)
    _require_sinusoids(theirs, sinusoidal_encoding(config.max_length, config.d_model)[:, order])
    names, weights = marian_names(config), {}
    for name in sorted(theirs.keys() - set(names.values())):
        if "layer" in name:
            raise InputError(f"{name} has no place in a model of the sizes in config.json.")
    for our, their in names.items():
        weight = _find(theirs, their)
        if our == "output.bias":
            weight = weight.flatten()
        if "embedding" in our or our.startswith("output."):
            numbers = sides["src" if our.startswith("src") else "tgt"].numbers
            if len(weight) != int(numbers.max()) + 1:
                raise InputError(
                    f"{their} is for {len(weight)} tokens, the vocabulary has {numbers.max() + 1}."
                )
            weight = weight[numbers]
        if "embedding" in our:
            weight = weight * embedding_scale
        weights[our] = reordered(our, weight, order.argsort())
    return weights


def _find(theirs: Mapping[str, Tensor], name: str) -> Tensor:
    """A weight, by its name or by that of the one matrix that serves in several places."""
    for other in (name, *OTHER_NAMES.get(name, ())):
        if other in theirs:
            return theirs[other]
    raise InputError(f"there is no weight {name}.")


def _require_sinusoids(
    theirs: Mapping[str, Tensor], table: Float[Tensor, "length d_model"]
) -> None:
    for stack in ("encoder", "decoder"):
        name = f"model.{stack}.embed_positions.weight"
        found = theirs.get(name)
        if found is not None and not (
            found.shape == table.shape and torch.allclose(found.double(), table, atol=1e-3)
        ):
            raise InputError(f"{name} is not sinusoidal, our Transformer would compute others.")

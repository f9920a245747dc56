"""Models: every kind of translator by name, with its configuration.

To add a model, write a :class:`NextTokenModel` with a configuration, a frozen dataclass that begins
with ``src_vocab`` and ``tgt_vocab``, and add a line to ``MODELS``. Search, training, evaluation and
the command line need no change.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.ground.settings import check_value, default_of, unknown
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.luong import Luong, LuongConfig
from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from annotated_transformer.transformer import Transformer, TransformerConfig
from annotated_transformer.translator import NextTokenModel

Sizes = dict[str, dict[str, Any]]

DEFAULTS: Sizes = {"tiny": {}, "medium": {}, "finetune": {}}
"""The sizes that a model has of itself, in the recipes that every model has."""

SMALL_RECURRENT = {"d_model": 64, "hidden_dim": 128}
MEDIUM_RECURRENT = {"d_model": 256, "hidden_dim": 512, "dropout": 0.2}
SMALL_TRANSFORMER = {
    "d_model": 64, "num_layers": 2, "num_heads": 4, "d_ff": 256, "dropout": 0.0,
    "norm_position": "pre",
}  # fmt: skip
MEDIUM_TRANSFORMER = {
    "d_model": 256, "num_layers": 3, "num_heads": 8, "d_ff": 512, "dropout": 0.2,
    "norm_position": "pre", "share_embeddings": True,
}  # fmt: skip
SMALL_LANGUAGE_MODEL = SMALL_TRANSFORMER | {"num_layers": 4, "d_ff": 320}
MEDIUM_LANGUAGE_MODEL = MEDIUM_TRANSFORMER | {"num_layers": 6, "d_ff": 768}
"""With about as many parameters as the Transformers above."""

MODERN = {
    "norm": "rms", "norm_position": "pre", "activation": "swish", "gated": True, "bias": False,
    "positions": "rotary", "num_kv_heads": 2, "qk_norm": True,
}  # fmt: skip
"""What has changed in the block since 2017, as in Qwen3."""

BIG_TRANSFORMER = {
    "d_model": 1024, "num_heads": 16, "d_ff": 4096, "dropout": 0.3, "share_embeddings": True,
}  # fmt: skip

RECURRENT = DEFAULTS | {"tiny": SMALL_RECURRENT, "medium": MEDIUM_RECURRENT}


class ModelKind(NamedTuple):
    """The class of a model, that of its configuration, and its sizes in each recipe."""

    model: type[NextTokenModel]
    config: type
    sizes: Sizes = DEFAULTS


MODELS = {
    "seq2seq": ModelKind(Seq2Seq, RecurrentConfig, RECURRENT),
    "bahdanau": ModelKind(Bahdanau, RecurrentConfig, RECURRENT),
    "luong": ModelKind(Luong, LuongConfig, RECURRENT),
    "transformer": ModelKind(
        Transformer,
        TransformerConfig,
        DEFAULTS
        | {
            "tiny": SMALL_TRANSFORMER,
            "modern": SMALL_TRANSFORMER | MODERN | {"d_ff": 176},  # a gate is a third matrix
            "medium": MEDIUM_TRANSFORMER,
            "base": {"share_embeddings": True},
            "big": BIG_TRANSFORMER,
        },
    ),
    "language": ModelKind(
        LanguageModel,
        LanguageModelConfig,
        DEFAULTS
        | {
            "tiny": SMALL_LANGUAGE_MODEL,
            "modern": SMALL_LANGUAGE_MODEL | MODERN | {"d_ff": 216},
            "medium": MEDIUM_LANGUAGE_MODEL,
        },
    ),
}
"""All models, by name. A recipe whose name is not among a model's sizes is not for this model."""


VOCABULARIES = ("src_vocab", "tgt_vocab")
"""The settings of every configuration that the text determines."""


def sizes_of(model: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a model but its vocabularies: the given ones, else the defaults.

    Raises:
        InputError: if there is no such model, it has no setting of that name, or the setting does
            not allow that value.
    """
    require_choice("model", model, MODELS)
    if fixed := sorted({*VOCABULARIES} & given.keys()):
        raise InputError(f"{fixed[0]} is given, it must be left out: the text determines it.")
    known = {
        name: {f.name: default_of(f) for f in fields(kind.config) if f.name not in VOCABULARIES}
        for name, kind in MODELS.items()
    }
    for name in given:
        others = [other for other in MODELS if name in known[other]]
        if model not in others:
            said = f"{name} is a setting of {', '.join(others)}, not of {model}."
            raise InputError(said if others else unknown(name, known[model]))
    kind = MODELS[model].config
    return known[model] | {name: check_value(kind, name, value) for name, value in given.items()}


def make_config(model: str, src_vocab: int, tgt_vocab: int, sizes: Mapping[str, Any]) -> Any:
    """Make the configuration of a model for vocabularies of these sizes.

    ``sizes`` has the settings that differ from the defaults.

    Raises:
        InputError: as for :func:`sizes_of`, or if settings do not go together.
    """
    settings = sizes_of(model, sizes)
    return MODELS[model].config(src_vocab, tgt_vocab, **settings)


def make_model(model: str, config: Any) -> NextTokenModel:
    """Make the model of that name, with newly initialised weights.

    Raises:
        InputError: if there is no such model, or the configuration is that of another.
    """
    require_choice("model", model, MODELS)
    if not isinstance(config, MODELS[model].config):
        wanted = MODELS[model].config.__name__
        raise InputError(f"config is a {type(config).__name__}, {model} needs a {wanted}.")
    return MODELS[model].model(config)

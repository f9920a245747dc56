"""Models: every kind of translator by name, with its configuration.

To add a model, write a :class:`Translator` with a configuration, a frozen dataclass that begins
with ``src_vocab`` and ``tgt_vocab``, and add a line to ``MODELS``. Search, training, evaluation and
the command line need no change.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.errors import InputError, require_choice
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.luong import Luong, LuongConfig
from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from annotated_transformer.settings import build, unknown
from annotated_transformer.transformer import Transformer, TransformerConfig
from annotated_transformer.translator import Translator

MODELS: dict[str, tuple[type[Translator], type]] = {
    "seq2seq": (Seq2Seq, RecurrentConfig),
    "bahdanau": (Bahdanau, RecurrentConfig),
    "luong": (Luong, LuongConfig),
    "transformer": (Transformer, TransformerConfig),
    "language": (LanguageModel, LanguageModelConfig),
}
"""The class of a model, and the class of its configuration."""


def make_config(model: str, src_vocab: int, tgt_vocab: int, sizes: Mapping[str, Any]) -> Any:
    """Make the configuration of a model for vocabularies of these sizes.

    ``sizes`` has the settings that differ from the defaults.

    Raises:
        InputError: if there is no such model, it has no setting of that name, or the setting does
            not allow that value.
    """
    require_choice("model", model, MODELS)
    vocabularies = {"src_vocab": src_vocab, "tgt_vocab": tgt_vocab}
    if given := sorted(vocabularies.keys() & sizes.keys()):
        raise InputError(f"{given[0]} is given, it must be left out: the text determines it.")
    known = {
        name: [field.name for field in fields(kind) if field.name not in vocabularies]
        for name, (_, kind) in MODELS.items()
    }
    for name in sizes:
        others = [other for other in MODELS if name in known[other]]
        if model not in others:
            said = f"{name} is a setting of {', '.join(others)}, not of {model}."
            raise InputError(said if others else unknown(name, known[model]))
    return build(MODELS[model][1], {**vocabularies, **sizes})


def make_model(model: str, config: Any) -> Translator:
    """Make the model of that name, with newly initialised weights.

    Raises:
        InputError: if there is no such model, or the configuration is that of another.
    """
    require_choice("model", model, MODELS)
    if not isinstance(config, MODELS[model][1]):
        wanted = MODELS[model][1].__name__
        raise InputError(f"config is a {type(config).__name__}, {model} needs a {wanted}.")
    return MODELS[model][0](config)

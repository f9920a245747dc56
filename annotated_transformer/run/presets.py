"""Presets: recipes that are known to work, by name."""

import json
from pathlib import Path
from typing import Any

from annotated_transformer.errors import InputError, require_choice
from annotated_transformer.inputs import require_content
from annotated_transformer.models import MODELS
from annotated_transformer.run.recipe import Recipe
from annotated_transformer.settings import BRIEF

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
    "d_model": 1024, "num_heads": 16, "d_ff": 4096, "dropout": 0.3, "share_embeddings": True
}  # fmt: skip

PAPER: dict[str, Any] = {
    "subwords": 37_000,
    "batch_tokens": 3125,  # eight of them are the paper's 25,000 tokens a side
    "accumulate": 8,
    "warmup": 4000,
    "smoothing": 0.1,
    "clip": None,
    "average_decay": 0.999,  # in place of the paper's mean of the last checkpoints
    "validate_every": 1000,
}
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {},
    "modern": {},
    "medium": {
        "steps": 3700,
        "subwords": 5000,
        "batch_tokens": 2048,
        "schedule": "linear",
        "peak_rate": 2e-3,
        "warmup": 400,
        "smoothing": 0.1,
        "average_decay": 0.998,
        "validate_every": 500,
    },
    "finetune": {
        "steps": 1000,
        "schedule": "linear",
        "peak_rate": 5e-5,
        "warmup": 100,
        "smoothing": 0.1,
        "average_decay": 0.98,
        "validate_every": 50,
        "patience": 5,
    },
    "base": PAPER | {"steps": 100_000, "peak_rate": (512 * 4000) ** -0.5},
    "big": PAPER | {"steps": 300_000, "peak_rate": (1024 * 4000) ** -0.5},
}
MEANINGS = {
    "tiny": "for the toy corpus: minutes on one CPU core",
    "modern": "as tiny, with the block of today: RMSNorm, SwiGLU, rotary positions, QK-norm",
    "medium": "for some ten thousand real sentences: an hour on two CPU cores",
    "finetune": "for a trained model (train --from) and some hundred to some thousand sentences",
    "base": "the base Transformer of Vaswani et al. 2017: days on a GPU",
    "big": "the big Transformer of Vaswani et al. 2017: weeks on a GPU",
}
RECURRENT = ("seq2seq", "bahdanau", "luong")
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "tiny": dict.fromkeys(RECURRENT, SMALL_RECURRENT)
    | {"transformer": SMALL_TRANSFORMER, "language": SMALL_LANGUAGE_MODEL},
    "modern": {  # a gated network has a third matrix: two thirds of the width
        "transformer": SMALL_TRANSFORMER | MODERN | {"d_ff": 176},
        "language": SMALL_LANGUAGE_MODEL | MODERN | {"d_ff": 216},
    },
    "medium": dict.fromkeys(RECURRENT, MEDIUM_RECURRENT)
    | {"transformer": MEDIUM_TRANSFORMER, "language": MEDIUM_LANGUAGE_MODEL},
    "finetune": {},
    "base": {"transformer": {"share_embeddings": True}},
    "big": {"transformer": BIG_TRANSFORMER},
}
"""By preset and model. Settings that a preset does not name have the model's defaults."""


def preset(model: str, corpus: str, name: str | None = None, **changes: Any) -> Recipe:
    """Return the recipe of that name; by default "tiny" for the toy corpus, else "medium".

    Source: of "base" and "big" Vaswani et al. 2017, section 5 and Table 3.

    Raises:
        InputError: if there is no such preset, or it does not exist for the model.
    """
    name = name or ("tiny" if corpus == "toy" else "medium")
    require_choice("recipe", name, PRESETS)
    require_choice("model", model, SIZES[name] or MODELS)
    sizes = dict(SIZES[name].get(model, {}))
    return Recipe(model, corpus, **{**PRESETS[name], "sizes": sizes, **changes})


def recipe_of(name: str | None, model: str | None, corpus: str | None) -> Recipe:
    """Return the preset of that name, or the recipe in the file of that name; see :func:`preset`.

    Raises:
        InputError: if there is neither, or the file does not contain settings.
    """
    if name is None or name in PRESETS:
        return preset(model or "transformer", "toy" if corpus is None else corpus, name)
    if not Path(name).is_file():
        raise InputError(
            f"there is no file {BRIEF.repr(name)}: a recipe is one of {', '.join(PRESETS)}, or a "
            "file of settings."
        )
    require_content(Path(name))
    try:
        settings = json.loads(Path(name).read_bytes())  # reads UTF-16 as well
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not a JSON file of settings ({error}).") from error
    if not isinstance(settings, dict):
        raise InputError(f"{name} is not a JSON file of settings: it must be an object.")
    kind = model or settings.get("model", "transformer")
    text = settings.get("corpus", "toy") if corpus is None else corpus
    return Recipe.of_settings(settings | {"model": kind, "corpus": text})

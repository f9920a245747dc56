"""Presets: recipes that are known to work, by name."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from annotated_transformer.corpora import CORPORA
from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.ground.inputs import require_content
from annotated_transformer.ground.settings import BRIEF
from annotated_transformer.models import MODELS
from annotated_transformer.run.recipe import Recipe

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


class Preset(NamedTuple):
    """What a recipe is for, and its settings where they differ from the defaults."""

    meaning: str
    settings: dict[str, Any]


PRESETS = {
    "tiny": Preset(
        "for the toy corpus: minutes on one CPU core",
        {},
    ),
    "modern": Preset(
        "as tiny, with the modern block: RMSNorm, SwiGLU, rotary positions, QK-norm",
        {},
    ),
    "medium": Preset(
        "for some ten thousand real sentences: an hour on two CPU cores",
        {
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
    ),
    "finetune": Preset(
        "for a trained model (train --from) and some hundred to some thousand sentences",
        {
            "steps": 1000,
            "schedule": "linear",
            "peak_rate": 5e-5,
            "warmup": 100,
            "smoothing": 0.1,
            "average_decay": 0.98,
            "validate_every": 50,
            "patience": 5,
        },
    ),
    "base": Preset(
        "the base Transformer of Vaswani et al. 2017: days on a GPU",
        PAPER | {"steps": 100_000, "peak_rate": (512 * 4000) ** -0.5},
    ),
    "big": Preset(
        "the big Transformer of Vaswani et al. 2017: weeks on a GPU",
        PAPER | {"steps": 300_000, "peak_rate": (1024 * 4000) ** -0.5},
    ),
}


def preset(model: str, corpus: str, name: str | None = None, **changes: Any) -> Recipe:
    """Return the recipe of that name; by default "tiny" for the toy corpus, else "medium".

    Source: of "base" and "big" Vaswani et al. 2017, section 5 and Table 3.

    Raises:
        InputError: if there is no such preset, or it does not exist for the model.
    """
    name = name or (CORPORA[corpus].recipe if corpus in CORPORA else "medium")
    require_choice("recipe", name, PRESETS)
    require_choice("model", model, [key for key, kind in MODELS.items() if name in kind.sizes])
    sizes = dict(MODELS[model].sizes[name])
    return Recipe(model, corpus, **{**PRESETS[name].settings, "sizes": sizes, **changes})


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

"""The description of a run: its recipe and its vocabularies, without the weights."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from annotated_transformer import __version__
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_content
from annotated_transformer.ground.settings import BRIEF
from annotated_transformer.run.encoded import (
    read_vocabularies,
    vocabulary_files,
    write_vocabularies,
)
from annotated_transformer.run.files import write_atomically
from annotated_transformer.run.recipe import FORMAT, SUMS, Recipe
from annotated_transformer.tokens import Vocabularies


def write_description(
    folder: Path, recipe: Recipe, checksum: str, vocabularies: Vocabularies
) -> None:
    """Write ``recipe.json`` and the vocabularies into a folder.

    ``run`` is a checksum of the run as it was started, to which the weights are bound.
    """
    write_vocabularies(vocabularies, folder)
    sums = {"corpus_checksum": checksum, "vocabulary_checksum": _checksum(folder)}
    begun = json.dumps(sums | recipe.to_settings())
    _write(folder, sums | {"run": sha256(begun.encode()).hexdigest()}, recipe)


def write_recipe(folder: Path, recipe: Recipe) -> None:
    """Write another recipe into ``recipe.json``; its other entries stay."""
    before = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    _write(folder, {name: before[name] for name in SUMS if name in before}, recipe)


def _write(folder: Path, sums: Mapping[str, str], recipe: Recipe) -> None:
    described = {"format": FORMAT, "version": __version__, **sums, **recipe.to_settings()}
    text = json.dumps(described, indent=2, ensure_ascii=False)
    write_atomically(folder / "recipe.json", text + "\n")


def _checksum(folder: Path) -> str:
    """Compute a SHA-256 of the vocabularies in a folder."""
    texts = ((folder / name).read_text(encoding="utf-8") for name in vocabulary_files(folder))
    return sha256("".join(texts).encode()).hexdigest()


def run_of(folder: Path) -> str | None:
    """Return the run to which the weights in a folder are bound, if ``recipe.json`` says it."""
    path = folder / "recipe.json"
    return json.loads(path.read_text(encoding="utf-8")).get("run") if path.is_file() else None


def read_description(folder: Path) -> tuple[Recipe, str, Vocabularies]:
    """Read what :func:`write_description` wrote: recipe, checksum, vocabularies.

    Raises:
        InputError: if the folder contains no run, or an unusable one.
    """
    path = folder / "recipe.json"
    if not path.is_file():
        raise InputError(f"{folder} holds no run: there is no recipe.json in it.")
    for name in (path.name, *vocabulary_files(folder)):
        require_content(folder / name)
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        recipe, checksum = _read_recipe(described)
        vocabularies = read_vocabularies(folder)
        if (wanted := described.get("vocabulary_checksum")) not in (None, _checksum(folder)):
            raise InputError(f"a vocabulary was changed: recipe.json has their SHA-256, {wanted}")
        recipe.make_config(*map(len, vocabularies))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder} holds a damaged run ({error}).") from error
    return recipe, checksum, vocabularies


def _read_recipe(described: Any) -> tuple[Recipe, str]:
    if not isinstance(described, dict) or described.get("format") is None:
        raise InputError("recipe.json has no format: it is not that of a run, or older than 0.2")
    checksum = described.get("corpus_checksum")
    if not isinstance(checksum, str):
        raise InputError(f"corpus_checksum is {BRIEF.repr(checksum)}, it must be a text")
    return Recipe.of_settings(described), checksum

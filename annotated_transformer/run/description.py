"""The description of a run: its recipe and its vocabularies, everything but the weights."""

import json
from pathlib import Path
from typing import Any

from annotated_transformer import __version__
from annotated_transformer.errors import InputError
from annotated_transformer.run.encoded import read_vocabularies, write_vocabularies
from annotated_transformer.run.files import write_atomically
from annotated_transformer.run.recipe import FORMAT, Recipe
from annotated_transformer.settings import BRIEF
from annotated_transformer.tokens import Vocabularies


def write_description(
    folder: Path, recipe: Recipe, checksum: str, vocabularies: Vocabularies
) -> None:
    """Write ``recipe.json`` and the vocabularies into a folder."""
    write_vocabularies(vocabularies, folder)
    write_recipe(folder, recipe, checksum)


def write_recipe(folder: Path, recipe: Recipe, checksum: str) -> None:
    """Write ``recipe.json`` anew, with the checksum of the corpus."""
    header = {"format": FORMAT, "version": __version__, "corpus_checksum": checksum}
    text = json.dumps(header | recipe.to_settings(), indent=2, ensure_ascii=False)
    write_atomically(folder / "recipe.json", text + "\n")


def read_description(folder: Path) -> tuple[Recipe, str, Vocabularies]:
    """Read what :func:`write_description` wrote: recipe, checksum, vocabularies.

    Raises:
        InputError: if the folder holds no run, or one that cannot be used.
    """
    path = folder / "recipe.json"
    if not path.is_file():
        raise InputError(f"{folder} holds no run: there is no recipe.json in it.")
    try:
        recipe, checksum = _read_recipe(json.loads(path.read_text(encoding="utf-8")))
        vocabularies = read_vocabularies(folder)
        recipe.make_config(*map(len, vocabularies))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{folder} holds a damaged run ({error}).") from error
    return recipe, checksum, vocabularies


def _read_recipe(described: Any) -> tuple[Recipe, str]:
    if not isinstance(described, dict) or described.get("format") is None:
        raise InputError("recipe.json has no format: it is not that of a run, or older than 0.2")
    settings = dict(described)
    number, version = settings.pop("format"), settings.pop("version", "unknown")
    if type(number) is not int or number < 1:  # JSON's true is an int, too
        raise InputError(f"format is {BRIEF.repr(number)}, it must be a whole number, at least 1")
    if number > FORMAT:
        raise InputError(
            f"recipe.json has format {number}, written by version {version}; version "
            f"{__version__} reads up to format {FORMAT}: install a newer one"
        )
    checksum = settings.pop("corpus_checksum", None)
    if not isinstance(checksum, str):
        raise InputError(f"corpus_checksum is {BRIEF.repr(checksum)}, it must be a text")
    return Recipe.of_settings(settings), checksum

"""Sentences: messages to readers are whole literals in the code, which can be listed.

``make catalogues`` lists them, with those of the tables of mistakes. A placeholder in braces is a
value, a name or another whole sentence, never a piece of grammar. The variable
``ANNOTATED_TRANSFORMER_LANGUAGE`` chooses the language; what its catalogue lacks is said in
English.
"""

import ast
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, reduce
from pathlib import Path
from typing import Any, NamedTuple

from annotated_transformer.ground.errors import InputError

LANGUAGE_VARIABLE = "ANNOTATED_TRANSFORMER_LANGUAGE"
ENGLISH = "en"
CATALOGUES = Path(__file__).resolve().parent.parent / "locale"
# An entry of a catalogue: both are literals of strings, one below the other.
ENTRY = re.compile(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"\n?)+)', re.MULTILINE)


def require_language(language: str, name: str = "language") -> str:
    """Return a language that has a catalogue, or English.

    Raises:
        InputError: if there is no catalogue of it; ``name`` is what chose it.
    """
    languages = [ENGLISH, *sorted(path.name for path in CATALOGUES.iterdir())]
    if language not in languages:
        known = ", ".join(languages)
        raise InputError(f"{name} is {language!r}, it must be one of {known}.")
    return language


def read_catalogue(file: Path) -> dict[str, str]:
    """Read the messages of a catalogue that are translated: none where there is no file."""
    entries = file.read_text(encoding="utf-8").split("\n\n") if file.exists() else []
    pairs = [pair for entry in entries if ", fuzzy" not in entry for pair in ENTRY.findall(entry)]
    found = {ast.literal_eval(f"({one})"): ast.literal_eval(f"({other})") for one, other in pairs}
    return {message: translated for message, translated in found.items() if message and translated}


def sentences_in(language: str) -> dict[str, str]:
    """Read the sentences of a language: none for English."""
    return read_catalogue(CATALOGUES / language / "LC_MESSAGES" / "workbook.po")


@cache
def translations() -> dict[str, str]:
    """Read the sentences of the language that is chosen.

    Raises:
        InputError: if there is no catalogue of that language.
    """
    return sentences_in(
        require_language(os.environ.get(LANGUAGE_VARIABLE, ENGLISH), LANGUAGE_VARIABLE)
    )


def in_language(sentence: str, /) -> str:
    """Return a sentence in the language that is chosen, with its placeholders."""
    return translations().get(sentence, sentence)


class Way(NamedTuple):
    """A row of a table: a sentence, and the change or condition that it describes."""

    says: str
    how: Callable[..., Any]
    values: Mapping[str, object] = {}
    """The values of the placeholders in the sentence."""


def said(sentence: str, /, **values: object) -> str:
    """Fill the placeholders of a sentence.

    >>> said("this is `{name}`, as it was given.", name="mask")
    'this is `mask`, as it was given.'
    """
    return in_language(sentence).format(**values)


def to_say(sentence: str, /) -> str:
    """Mark a sentence whose placeholders are filled later."""
    return sentence


def first_said(ways: Iterable[Way], fits: Callable[[Callable[..., Any]], bool]) -> str:
    """Return the sentence of the first way that fits, or ""."""
    for says, how, values in ways:
        with suppress(Exception):  # it may make no sense for results or arguments of this kind
            if fits(how):
                return said(says, **values)
    return ""


def either(values: Iterable[str]) -> str:
    """Join values of which any one is accepted."""
    return reduce(lambda one, other: said("{one} or {other}", one=one, other=other), values)

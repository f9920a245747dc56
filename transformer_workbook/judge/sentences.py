"""Sentences: messages to readers are whole literals in the code, which can be listed.

``make catalogues`` lists them, with those of the tables of mistakes. A placeholder in braces is a
value, a name or another whole sentence, never a piece of grammar. What the catalogue of the chosen
language lacks is said in English.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from annotated_transformer.ground.sentences import language, translations

CATALOGUES = Path(__file__).resolve().parent.parent / "locale"


def sentences_in(language: str) -> dict[str, str]:
    """Read the sentences of a language: none for English."""
    return translations(CATALOGUES / language / "LC_MESSAGES" / "workbook.po")


def in_language(sentence: str, /) -> str:
    """Return a sentence in the language that is chosen, with its placeholders.

    Raises:
        InputError: if there is no catalogue of that language.
    """
    return sentences_in(language()).get(sentence, sentence)


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

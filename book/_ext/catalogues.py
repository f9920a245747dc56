"""The catalogues of an edition: a file for each page, with its messages in both languages.

``make catalogues`` takes the messages out of the pages and into ``book/locale``, where a translator
finds them. A page is translated as far as its catalogue is.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from babel.messages import Catalog, Message
from babel.messages.pofile import read_po
from contents import entries
from editions import TRANSLATED

# What a message has beside words: formulas, code, roles with their targets, addresses, tags, and
# places for values.
KEPT = re.compile(r"\$[^$]+\$|\{[a-z:]+\}`[^`]*`|`[^`]+`|\]\([^)]*\)|<[^<>]*>|https?://\S+|\{\w+\}")
NAMES = 5
"""So many words may be a name or a term, which stays as it is."""


def words(message: str) -> list[str]:
    """Return the words of a message that somebody has to translate.

    >>> words("Here $d_k$ is the width of `K`; see [chapter 4](04_luong.ipynb).")
    ['Here', 'is', 'the', 'width', 'of', 'see', 'chapter']
    """
    return re.findall("[A-Za-z]{2,}", KEPT.sub(" ", message))


def is_missing(message: Message, language: str) -> bool:
    """Tell whether a message has no translation, an old one, or one in another script."""
    source, translated = str(message.id), str(message.string)
    if not words(source):
        return False
    if translated == source:
        return message.fuzzy or len(words(source)) > NAMES
    return message.fuzzy or not (translated and TRANSLATED[language].writes(translated))


def messages(catalogue: Catalog) -> list[Message]:
    """Return the messages of a catalogue, without its head."""
    return [message for message in catalogue if message.id]


def translated_pages(language: str) -> list[str]:
    """Return the pages that have a catalogue; and what else has one, such as ``sphinx``."""
    folder = TRANSLATED[language].folder
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.po"))


def expected_pages(language: str) -> list[str]:
    """Return the pages of the contents that have, or wait for, a catalogue.

    The reference has pages that stay in English for now.
    """
    begun = translated_pages(language)
    return [entry.name for entry in entries() if entry.part != "Reference" or entry.name in begun]


def open_catalogue(path: Path) -> Catalog | None:
    """Read a catalogue; nothing where there is none."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        return read_po(file)


def catalogue_of(page: str, language: str) -> Catalog | None:
    """Read the catalogue of a page, such as ``book/index``."""
    return open_catalogue(TRANSLATED[language].folder / f"{page}.po")


def translations(found: Iterable[str], catalogue: Catalog | None) -> list[Message]:
    """Return the messages of a page with all that its catalogue has of them, if it has one."""
    catalogue = catalogue or Catalog()
    return [catalogue.get(message) or Message(message) for message in found]


def share(found: Iterable[Message], language: str) -> float:
    """Return which part of some messages is translated, by their words.

    >>> share([Message("Two words", "두 낱말"), Message("There are six more words here")], "ko")
    0.25
    """
    counted = [(len(words(str(message.id))), is_missing(message, language)) for message in found]
    total = sum(number for number, _ in counted)
    return sum(number for number, missing in counted if not missing) / total if total else 1.0

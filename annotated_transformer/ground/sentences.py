"""Sentences in the language of the reader: English in the code, another's in a catalogue.

The variable ``ANNOTATED_TRANSFORMER_LANGUAGE`` chooses the language; the command line takes that of
the locale if it is not set. What a catalogue lacks is said in English.
"""

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from pathlib import Path

from annotated_transformer.ground.errors import require_choice

ENGLISH = "en"
LANGUAGE_VARIABLE = "ANNOTATED_TRANSFORMER_LANGUAGE"
CATALOGUES = Path(__file__).resolve().parent.parent / "locale"
# An entry of a catalogue: both are literals of strings, one below the other.
ENTRY = re.compile(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"\n?)+)', re.MULTILINE)
PLACEHOLDER = re.compile(r"(?<!\{)\{(\w+)\}")


@cache
def languages() -> list[str]:
    """Return English, and the languages of the catalogues."""
    return [ENGLISH, *sorted(path.name for path in CATALOGUES.iterdir())]


def language() -> str:
    """Return the language that the variable chooses.

    Raises:
        InputError: if there is no catalogue of that language.
    """
    chosen = os.environ.get(LANGUAGE_VARIABLE, ENGLISH)
    require_choice(LANGUAGE_VARIABLE, chosen, languages())
    return chosen


def language_of_the_locale() -> str:
    """Return the language of the locale, or English if it has no catalogue."""
    named = filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG")))
    code = re.split("[_.@]", next(named, ""))[0]
    return code if code in languages() else ENGLISH


@cache
def translations(path: Path) -> dict[str, str]:
    """Read the sentences of a catalogue that are translated; English has none."""
    entries = path.read_text(encoding="utf-8").split("\n\n") if path.exists() else []
    found = [pair for entry in entries if ", fuzzy" not in entry for pair in ENTRY.findall(entry)]
    read = {ast.literal_eval(f"({one})"): ast.literal_eval(f"({other})") for one, other in found}
    return {message: said for message, said in read.items() if message and said}


def spoken(sentence: str) -> str:
    """Say a finished sentence in the language that is chosen, and its values if they are sentences.

    The catalogue of the package has templates with their values in braces. An unknown language,
    which every command refuses, is English.
    """
    return _understood(sentence, os.environ.get(LANGUAGE_VARIABLE, ENGLISH))[1]


def _understood(sentence: str, chosen: str) -> tuple[int, str]:
    """Return a sentence as the templates say it that have most of its characters, and how many."""
    readings = [(0, sentence)]
    for own, pattern, translation in _templates(chosen):
        if found := pattern.fullmatch(sentence):
            values = {
                name: _understood(value, chosen) if " " in value else (0, value)
                for name, value in found.groupdict().items()
            }
            said = translation.format_map({name: value for name, (_, value) in values.items()})
            readings.append((own + sum(number for number, _ in values.values()), said))
    return max(readings, key=itemgetter(0))


@cache
def _templates(chosen: str) -> list[tuple[int, re.Pattern[str], str]]:
    """Compile the templates of a language, each with the number of its own characters."""
    known = translations(CATALOGUES / chosen / "LC_MESSAGES" / "annotated_transformer.po")
    return [
        (len(PLACEHOLDER.sub("", template)), re.compile("".join(_pattern(template))), translation)
        for template, translation in known.items()
    ]


def _pattern(template: str) -> Iterator[str]:
    """Return the parts of a regular expression; a value that comes again is the same."""
    known = set[str]()
    for at, part in enumerate(PLACEHOLDER.split(template)):
        if at % 2:
            yield f"(?P={part})" if part in known else f"(?P<{part}>(?s:.*?))"
            known.add(part)
        else:
            yield re.escape(part.format())

"""A lesson in another language: the prose of its cells, by the catalogues of the book.

Sphinx makes a message of every heading, paragraph, item, cell of a table and title of a box. Here
the lines of the Markdown are looked up, so that all around them stays as it is; what the catalogues
lack stays in English. Code is the same in every language.
"""

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annotated_transformer.ground.sentences import LANGUAGE_VARIABLE, translations
from transformer_workbook.judge.sentences import sentences_in
from transformer_workbook.lessons.gaps import Notebook, source_of
from transformer_workbook.lessons.plain_markdown import CITED, GLUED, to_plain, to_roles

ITEM = r"(?:[-*]|\d+\.) "
OTHER = r"#|\||<|:|```|\$\$"
"""What a line of a paragraph does not begin with: headings, tables, HTML, fences, formulas."""

PLACES = (
    re.compile(r"(?m)^(?P<before>(?:#+|:::\{admonition\}|```\{margin\}) +)(?P<text>.+)"),
    re.compile(
        rf"(?m)^(?P<before>(?:[ >]|{ITEM})*)"
        rf"(?P<text>(?!{OTHER}).+(?:\n(?![ >]*(?:$|{ITEM}|{OTHER})).+)*)"
    ),
    re.compile(r"(?P<before>\| +)(?P<text>[^|\n]+?)(?= +\|)"),
    re.compile(r"(?P<before><summary>)(?P<text>[^<]+)"),
)
"""Where messages are in Markdown with roles, and what stands before them."""


def messages_for(lesson: Path, language: str) -> dict[str, str]:
    """Read what the book and the workbook say in a language, for the notebook of a lesson."""
    folder = lesson.parent / "locale" / language / "LC_MESSAGES"
    files = [folder / "sphinx.po", folder / "book" / f"{lesson.stem}.po"]
    found = dict(sentences_in(language))  # the cache keeps its own
    for file in files:
        found |= translations(file)
    return found


def translated(markdown: str, messages: Mapping[str, str]) -> str:
    r"""Return plain Markdown with its messages in another language.

    >>> translated("## Two\n\n> - One\n>   word.", {"Two": "둘", "One word.": "낱말 하나."})
    '## 둘\n\n> - 낱말 하나.'
    """
    papers = {match[1]: match[0] for match in re.finditer(CITED, markdown)}
    values = {match[1]: match[0] for match in GLUED.finditer(markdown)}

    def said(match: re.Match[str]) -> str:
        message = re.sub(r"\n[ >]*", " ", match["text"])
        return match["before"] + messages.get(message, match["text"])

    markdown = to_roles(markdown)
    for place in PLACES:
        markdown = place.sub(said, markdown)
    return to_plain(markdown, papers.__getitem__, values.__getitem__)


def in_language(notebook: Notebook, lesson: Path, language: str) -> dict[str, Any]:
    """Return the notebook of a lesson in a language, which its checks speak too."""
    spoken = copy.deepcopy(dict(notebook))
    messages = messages_for(lesson, language)
    for cell in spoken["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = translated(source_of(cell), messages)
    first = next(cell for cell in spoken["cells"] if cell["cell_type"] == "code")
    first["source"] = f"%env {LANGUAGE_VARIABLE}={language}\n\n{source_of(first)}"
    return spoken

"""How long a page takes to read, computed from the page itself and shown under its title.

Words are counted at 180 a minute and visible lines of code at 12. Exercises are counted
separately: one, two or three stars are 5, 15 or 40 minutes.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _

from transformer_workbook.lessons.plain_markdown import to_roles

WORDS_A_MINUTE = 180
LINES_A_MINUTE = 12
MINUTES_OF_STARS = {1: 5, 2: 15, 3: 40}
EXERCISES = "## Exercises", "## More exercises"

# Not prose in a Markdown cell: folds, blocks of code, formulas, the names of roles.
NOT_WORDS = re.compile(
    r"<details>.*?</details>|```.*?```|\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|\{[a-z:]+\}", re.DOTALL
)
STARS = re.compile(r"^\*\*\d+\. (★+)(?!★)", re.MULTILINE)


@dataclass(frozen=True)
class Reading:
    """What there is to read."""

    words: int
    lines: int
    minutes: int
    exercise_minutes: int


def words_in(markdown: str) -> int:
    """Count the words of the prose, without tables, formulas and code."""
    text = NOT_WORDS.sub(" ", markdown)
    return sum(len(line.split()) for line in text.splitlines() if not line.lstrip().startswith("|"))


def is_visible(cell: dict[str, Any]) -> bool:
    """Tell whether the reader sees the source of a code cell without opening a fold."""
    tags = cell["metadata"].get("tags", [])
    return not any(tag.startswith(("hide", "remove")) for tag in tags)


def pieces(notebook: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Iterate over prose and visible code, and tell whether it belongs to the exercises."""
    in_exercises = False
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for part in re.split(r"(?m)^(?=## )", to_roles(source)):
                if part.startswith("## "):
                    in_exercises = part.startswith(EXERCISES)
                yield "prose", part, in_exercises
        elif cell["cell_type"] == "code" and is_visible(cell):
            yield "code", "\n".join(filter(str.strip, source.splitlines())), in_exercises


def reading(notebook: dict[str, Any]) -> Reading:
    """Measure a notebook: all words and lines, and the minutes without and for the exercises."""
    words = lines = exercise_minutes = 0
    minutes = 0.0
    for kind, text, in_exercises in pieces(notebook):
        new_words = words_in(text) if kind == "prose" else 0
        new_lines = len(text.splitlines()) if kind == "code" else 0
        words, lines = words + new_words, lines + new_lines
        if in_exercises:
            exercise_minutes += sum(MINUTES_OF_STARS[len(stars)] for stars in STARS.findall(text))
        else:
            minutes += new_words / WORDS_A_MINUTE + new_lines / LINES_A_MINUTE
    return Reading(words, lines, math.ceil(minutes), exercise_minutes)


def show(app: Sphinx, document: nodes.document) -> None:
    """Write the minutes under the title of every page that is a notebook."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    found = reading(json.loads(path.read_text(encoding="utf-8")))
    text = _("{minutes} minutes to read")
    if found.exercise_minutes:
        text = _("{minutes} minutes to read, {exercises} for the exercises")
    text = text.format(minutes=found.minutes, exercises=found.exercise_minutes)
    section = next(document.findall(nodes.section))
    section.insert(1, nodes.paragraph("", text, classes=["reading-time"]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

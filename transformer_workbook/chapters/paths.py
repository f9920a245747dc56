"""Paths through the course: which lessons, in which order, for an evening or for a class."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from annotated_transformer.ground.errors import require_choice

FILE = Path(__file__).with_name("paths.toml")


@dataclass(frozen=True)
class Meeting:
    """An evening, a week or a lecture."""

    lessons: list[str]
    in_class: str = ""
    question: str = ""
    """For the exam, as ``answer`` is for its teachers."""
    answer: str = ""


@dataclass(frozen=True)
class Route:
    """A path, for whom it is, and its meetings."""

    title: str
    for_whom: str
    meetings: list[Meeting]

    @property
    def lessons(self) -> list[str]:
        """Return the names of its lessons, in their order."""
        return [name for meeting in self.meetings for name in meeting.lessons]


def lessons_of(path: str | None) -> list[str]:
    """Return the names of the lessons of a path, by its name; of none, none.

    Raises:
        InputError: if there is no such path.
    """
    if path is None:
        return []
    require_choice("path", path, routes())
    return routes()[path].lessons


@cache
def routes() -> dict[str, Route]:
    """Return the paths by name.

    >>> routes()["six_evenings"].lessons[0]
    'seq2seq'
    """
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Route(**row | {"meetings": [Meeting(**each) for each in row["meetings"]]})
        for name, row in tables.items()
    }

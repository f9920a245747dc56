"""The exercises of the book, by their names; those of a chapter are in its folder, in its order.

An exercise is called with the reader's function and returns a verdict:

>>> from transformer_workbook import exercises
>>> exercises.count_tokens(lambda ids: ids.sum(dim=1))
wrong: you add up the ids; compare them with PAD first.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from transformer_workbook import chapters
from transformer_workbook.judge import Task
from transformer_workbook.judge.progress import read_progress
from transformer_workbook.judge.sentences import in_language, said
from transformer_workbook.notebook.tables import table

__path__: list[str] = []  # as of a folder; its modules are in the chapters (aliases.py)


def _tasks(chapter: str) -> dict[str, Task]:
    """The exercises of a chapter, by their names."""
    inside = vars(import_module(f"{chapters.__name__}.{chapter}.exercises"))
    return {name: task for name, task in inside.items() if isinstance(task, Task)}


_BY_CHAPTER = {chapter: _tasks(chapter) for chapter in chapters.CHAPTERS}

CHAPTERS = {c: tuple(n for n, t in tasks.items() if not t.gap) for c, tasks in _BY_CHAPTER.items()}
"""The names of the exercises of every chapter, in its order."""

GAPS = {c: tuple(n for n, t in tasks.items() if t.gap) for c, tasks in _BY_CHAPTER.items()}
"""The names of the checks of every lesson's gaps, in its order."""

TITLES = {chapter: chapter.replace("_", " ") for chapter in CHAPTERS}
"""What every chapter is called where its exercises are counted."""

TASKS = {name: task for tasks in _BY_CHAPTER.values() for name, task in tasks.items()}
"""Every exercise, by its name."""


def __getattr__(name: str) -> Task:
    """Return the exercise of a name, so that ``exercises.window_mask`` is one."""
    try:
        return TASKS[name]
    except KeyError:
        raise AttributeError(f"there is no exercise {name!r}") from None


def __dir__() -> list[str]:
    """Let an editor complete the names of exercises."""
    return [*globals(), *TASKS]


def passed(known: Mapping[str, str], names: Sequence[str]) -> int:
    """Count those that are passed."""
    return [known.get(name) for name in names].count("right")


def summary(chapter: str | None = None) -> Any:
    """Which exercises of a chapter are passed, or how many of every chapter.

    Raises:
        KeyError: if there is no chapter of this name.
    """
    known = read_progress()
    if chapter is None:
        columns = {
            said("passed"): [passed(known, names) for names in CHAPTERS.values()],
            said("of"): [len(names) for names in CHAPTERS.values()],
        }
        return table(columns, rows=[in_language(title) for title in TITLES.values()])
    names = CHAPTERS[chapter]
    signs = {"right": said("✓ right"), "wrong": said("✗ not yet")}
    return table(
        {
            said("exercise"): [in_language(TASKS[name].statement) for name in names],
            said("state"): [signs.get(known.get(name, ""), said("○ open")) for name in names],
        },
        rows=[str(number) for number in range(1, len(names) + 1)],
    )

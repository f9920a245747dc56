"""Every lesson keeps the rules of a lesson, and its minutes are counted."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from reading_time import reading, words_in

import lesson_rules

BOOK = Path(__file__).resolve().parent.parent / "book"

CHAPTERS = sorted(BOOK.glob("[0-9]*.ipynb"))
DEEPER = sorted((BOOK / "deeper").glob("*.ipynb"))
FURTHER = sorted((BOOK / "further").glob("*.ipynb"))
LESSONS = [*sorted(BOOK.glob("*.ipynb")), *DEEPER, *FURTHER]
Rule = Callable[[NotebookNode], list[str]]


@cache
def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


# The whole model on one page is to be copied: its classes are not cut into pieces.
EXCEPTIONS = {("one_page", lesson_rules.long_cells)}


def pages_of(rule: Rule) -> list[Path]:
    if rule in lesson_rules.RULES:
        return LESSONS
    doing = rule in lesson_rules.OF_DOING
    return [page for page in CHAPTERS if lesson_rules.is_done(read(page)) == doing]


@pytest.mark.parametrize(
    "rule", [*lesson_rules.RULES, *lesson_rules.OF_CHAPTERS, *lesson_rules.OF_DOING]
)
def test_every_lesson_keeps_the_rule(rule: Rule) -> None:
    pages = [page for page in pages_of(rule) if (page.stem, rule) not in EXCEPTIONS]
    assert [(page, found) for page in pages if (found := rule(read(page)))] == []


def test_a_deeper_page_is_linked_from_the_lesson_whose_question_it_answers() -> None:
    pages = [*BOOK.glob("*.ipynb"), *FURTHER]
    prose = "".join(lesson_rules.prose(read(page)) for page in pages)
    for page in DEEPER:
        assert re.search(rf"\]\((\.\./)?deeper/{page.name}\)", prose), page.name


# --- the minutes ---------------------------------------------------------------------------------


def test_words_are_those_of_the_prose_outside_of_folds() -> None:
    markdown = "Two words\n\n$$\nx + y\n$$\n\n| a | table |\n\nand `code here` $x$ {cite}`key`"
    fold = "\n\n<details><summary>Hint</summary>\n\nNot this.\n\n</details>\n"
    assert words_in(markdown + fold) == len(["Two", "words", "and"])


def test_minutes_are_counted_apart_from_the_exercises() -> None:
    stub = "def mine():\n    return None\n\n\nexercises.x(mine)"
    cells = [
        new_markdown_cell("word " * 360),
        new_code_cell("\n".join(["x = 1"] * 12)),
        new_code_cell("assert x\n" * 50, metadata={"tags": ["hide-cell"]}),
        new_markdown_cell(
            "word " * 90 + "\n\n## Exercises\n\nRead.\n\n**1. ★ One line.** Write it."
        ),
        new_code_cell(stub),
        new_markdown_cell("**2. ★★★ A function.** And this."),
        new_code_cell(stub),
        new_markdown_cell("## Next\n\n" + "word " * 80),
    ]
    found = reading(new_notebook(cells=cells))
    assert found.lines == 12 + 2 * 3
    assert found.minutes == 4  # (360 + 90 + 82) / 180 + 12 / 12, rounded up
    assert found.exercise_minutes == 5 + 40

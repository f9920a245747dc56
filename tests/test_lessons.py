"""Every lesson keeps the rules of a lesson, and every rule finds what breaks it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from reading_time import reading, words_in

import lesson_rules

BOOK = Path(__file__).resolve().parent.parent / "book"

CHAPTERS = sorted(BOOK.glob("[0-9]*.ipynb"))
DEEPER = sorted((BOOK / "deeper").glob("*.ipynb"))
LESSONS = [*CHAPTERS, *DEEPER, *BOOK.glob("one_page.ipynb")]
Rule = Callable[[NotebookNode], list[str]]


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


# The whole model on one page is to be copied: its classes are not cut into pieces.
EXCEPTIONS = {("one_page", lesson_rules.long_cells)}


@pytest.mark.parametrize("rule", lesson_rules.RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_keeps_the_rule(path: Path, rule: Rule) -> None:
    assert (path.stem, rule) in EXCEPTIONS or rule(read(path)) == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_all_its_parts(path: Path) -> None:
    assert lesson_rules.missing_parts(read(path)) == []


@pytest.mark.parametrize("path", DEEPER, ids=lambda path: path.stem)
def test_a_deeper_page_is_linked_from_the_lesson_whose_question_it_answers(path: Path) -> None:
    link = f"](deeper/{path.name})"
    assert [p.stem for p in BOOK.glob("*.ipynb") if link in lesson_rules.prose(read(p))]


# --- the rules find what breaks them -------------------------------------------------------------


def cell(
    source: str, tag: str = "", label: str = "", hide: str | None = None, hidden: bool = True
) -> NotebookNode:
    metadata: dict[str, Any] = {"tags": [tag] if tag else []}
    if label:
        hide = label if hide is None else hide
        metadata["mystnb"] = {"code_prompt_show": label, "code_prompt_hide": hide}
    if tag.startswith("hide") and hidden:
        metadata["jupyter"] = {"source_hidden": True}
    return new_code_cell(source, execution_count=1, metadata=metadata)  # type: ignore[no-untyped-call]


def text(source: str) -> NotebookNode:
    return new_markdown_cell(source)  # type: ignore[no-untyped-call]


def page(*cells: NotebookNode) -> NotebookNode:
    return new_notebook(cells=list(cells))  # type: ignore[no-untyped-call]


TICK = "✓ both agree to 1e-12"
PROOF = "# Both agree: 1e-12.\nassert_close(a, b, rtol=0, atol=1e-12)"
LONG = "\n".join(f"x = {i}" for i in range(16))

BROKEN = [
    (lesson_rules.open_proofs, cell("x = 1\nassert x")),
    (lesson_rules.open_proofs, cell("torch.testing.assert_close(a, b)")),
    (lesson_rules.open_proofs, cell("assert x", "remove-cell")),
    (lesson_rules.open_drawing, cell("fig, ax = plt.subplots()")),
    (lesson_rules.open_drawing, cell("attention_explorer(weights, words, words)")),
    (lesson_rules.formatting_by_hand, cell("HTML(frame.to_html())")),
    (lesson_rules.formatting_by_hand, cell("x.numpy().round(2)")),
    (lesson_rules.formatting_by_hand, cell("print(f'{name:17} {x}')")),
    (lesson_rules.formatting_by_hand, cell("print(f'{x:>6.1f}')")),
    (lesson_rules.formatting_by_hand, cell("glue('x', x)")),
    (lesson_rules.long_cells, cell(LONG)),
    (lesson_rules.long_cells, cell("import a\nimport b\nimport c\nfrom d import e")),
    (lesson_rules.folds_without_label, cell("x", "hide-input")),
    (lesson_rules.folds_without_label, cell("x", "hide-cell", "Draw")),
    (lesson_rules.folds_without_label, cell("x", "hide-input", TICK)),
    (lesson_rules.folds_without_label, cell("x", "hide-input", "Draw", hide="Hide")),
    (lesson_rules.folds_without_label, cell("x", "hide-input", "Draw", hidden=False)),
    (lesson_rules.empty_ticks, cell("# Both agree.\na == b", "hide-cell", "✓ both agree")),
    (lesson_rules.empty_ticks, cell("assert a == b", "hide-cell", "✓ both agree")),
    (lesson_rules.empty_ticks, cell("# Right.\nassert a == b", "hide-cell", "Solution")),
    (lesson_rules.empty_ticks, cell(PROOF, "hide-cell", "✓ both agree to 1e-10")),
    (lesson_rules.empty_ticks, cell(PROOF, "hide-cell", "✓ both agree")),
    (lesson_rules.empty_ticks, cell("# To 1e-9.\nassert a == b", "hide-cell", "✓ to 1e-9")),
    (lesson_rules.foreign_documents, text("The lecture slides say that it is wrong.")),
    (lesson_rules.machinery, text("It is the same on other processors.")),
    (lesson_rules.too_much, text("word " * 2801)),
    (lesson_rules.too_much, text("word " * 180 * 41)),
    (lesson_rules.missing_parts, text("## Exercises\n\n**1. ★ One line.** Write it.")),
    (lesson_rules.missing_parts, text("\n".join(lesson_rules.HEADINGS))),
    (lesson_rules.missing_parts, text("\n".join(lesson_rules.HEADINGS) + "\n\n**1. One line.** x")),
]


@pytest.mark.parametrize(("rule", "broken"), BROKEN)
def test_rule_finds_what_breaks_it(rule: Rule, broken: NotebookNode) -> None:
    assert rule(page(broken))


def test_rules_accept_a_good_lesson() -> None:
    parts = "\n\n".join(lesson_rules.HEADINGS)
    asked = parts.replace("Exercises", "Exercises\n\n**1. ★★ A function.** Write it.\n\n", 1)
    good = page(
        cell("import a\nimport b\nimport c\nimport d", "hide-input", "Imports"),
        cell("x = q @ k.mT  # (query, key)\nprint(f'{sum(x)} of {len(x)}', x[1:3])"),
        cell("fig, ax = plt.subplots()", "hide-input", "Draw"),
        cell(PROOF, "hide-cell", TICK),
        cell("glue('x', x)", "remove-cell"),
        text(asked),
    )
    rules = [*lesson_rules.RULES, lesson_rules.missing_parts]
    assert [found for rule in rules for found in rule(good)] == []


# --- the minutes ---------------------------------------------------------------------------------


def test_words_are_those_of_the_prose() -> None:
    markdown = "Two words\n\n$$\nx + y\n$$\n\n| a | table |\n\nand `code here` $x$ {cite}`key`"
    assert words_in(markdown) == len(["Two", "words", "and"])


def test_words_in_a_fold_are_not_counted() -> None:
    markdown = "Read this.\n\n<details><summary>Hint</summary>\n\nNot this.\n\n</details>\n"
    assert words_in(markdown) == len(["Read", "this."])


def test_minutes_are_counted_apart_from_the_exercises() -> None:
    stubs = [cell(f"def mine_{i}():\n    return None\n\n\nexercises.x(mine_{i})") for i in "ab"]
    notebook = page(
        text("word " * 360),
        cell("\n".join(["x = 1"] * 12)),
        cell("assert x\n" * 50, "hide-cell", TICK),
        text("word " * 90 + "\n\n## Exercises\n\nRead.\n\n**1. ★ One line.** Write it."),
        stubs[0],
        text("**2. ★★★ A function.** And this."),
        stubs[1],
        text("## The way on\n\n" + "word " * 80),
    )
    found = reading(notebook)
    assert found.lines == 12 + 2 * 3
    assert found.minutes == 4  # (360 + 90 + 84) / 180 + 12 / 12, rounded up
    assert found.exercise_minutes == 5 + 40

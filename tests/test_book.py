"""The book keeps its rules, and a notebook that is run again is stored as it was."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

import book_rules
import run_notebooks
from transformer_workbook.lessons.plain_markdown import to_roles

ROOT = Path(__file__).resolve().parent.parent

NOTEBOOKS = sorted((ROOT / "book").rglob("*.ipynb"))
PAGES = sorted((ROOT / "book").rglob("*.md"))

RULES = [
    book_rules.not_executed_in_order,
    book_rules.empty_code_cells,
    book_rules.stored_errors,
    book_rules.stderr_outputs,
    book_rules.machine_paths,
    book_rules.ignored_outputs,
    book_rules.images_without_text,
    book_rules.glued_for_nothing,
]
Rule = Callable[[NotebookNode], list[str]]


@cache
def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


@pytest.mark.parametrize("rule", RULES)
def test_every_notebook_keeps_the_rule(rule: Rule) -> None:
    assert [(page, found) for page in NOTEBOOKS if (found := rule(read(page)))] == []


def test_every_notebook_is_stored_in_normal_form() -> None:
    for path in NOTEBOOKS:
        normal = run_notebooks.text(run_notebooks.normalise(deepcopy(read(path))))
        assert path.read_text(encoding="utf-8") == normal, f"run `make notebooks` for {path}"


@pytest.mark.parametrize("path", [*NOTEBOOKS, *PAGES], ids=lambda path: path.stem)
def test_no_result_is_typed_in_prose(path: Path) -> None:
    texts = [path.read_text(encoding="utf-8")]
    if path.suffix == ".ipynb":
        cells = read(path).cells
        texts = [to_roles(cell.source) for cell in cells if cell.cell_type == "markdown"]
    assert [found for text in texts for found in book_rules.typed_decimals(text)] == []


def test_a_typed_decimal_is_found_and_other_numbers_are_left_alone() -> None:
    typed = [
        "It reaches 38.4 BLEU.",
        "| model | BLEU |\n|---|---|\n| small | 38.4 |",
        "- It reaches **38.4**.",
        ":::{note}\nIt reaches 38.4.\n:::",
        "```{note}\n:class: tip\nIt reaches 38.4.\n```",
    ]
    others = [
        "It reaches 28.4 BLEU {cite}`vaswani2017` and {glue:text}`bleu:.1f`.",
        "The weight $0.5$ and `dropout=0.1`.\n\n$$\n0.5 x\n$$",
        "```{code-block} python\nx = 0.5\n```",
        "Python 3.11 or PyTorch 2.6, as in Section 3.2 of the paper; release 1.2.3.",
        "[the file](https://example.org/1.5) and [release 2.5](notation.md)",
    ]
    page = "\n\n".join(typed + others)
    assert len(book_rules.typed_decimals(page)) == len(typed)


def write_notebook(path: Path, source: str) -> None:
    notebook = new_notebook(cells=[new_code_cell(source, id="first")], metadata={"editor": "x"})
    nbformat.write(notebook, path)


@pytest.mark.slow
def test_running_a_notebook_again_changes_no_byte(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    write_notebook(path, "print('a')\nprint('b', flush=True)\n1 + 1")
    assert run_notebooks.run(path) is None
    first = path.read_bytes()
    assert run_notebooks.run(path) is None
    assert path.read_bytes() == first
    (stored,) = nbformat.read(path, as_version=4).cells
    assert stored.id == "first"
    assert [output.output_type for output in stored.outputs] == ["stream", "execute_result"]
    assert b"version" not in first
    assert b"editor" not in first


@pytest.mark.parametrize(
    ("source", "problem"),
    [("import sys\nprint('careful', file=sys.stderr)", "careful"), ("1 / 0", "ZeroDivisionError")],
)
def test_a_notebook_that_warns_or_fails_is_not_stored(
    tmp_path: Path, source: str, problem: str
) -> None:
    path = tmp_path / "x.ipynb"
    write_notebook(path, source)
    before = path.read_bytes()
    assert problem in str(run_notebooks.run(path))
    assert path.read_bytes() == before

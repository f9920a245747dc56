"""The notebooks read well without the site: no role, no directive, and nothing is lost by that."""

import re
from pathlib import Path

import nbformat
import pytest
from markdown_it import MarkdownIt
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import plain_notebooks
from plain_notebooks import bibliography, label, make_plain, to_plain
from transformer_workbook.lessons.plain_markdown import to_roles

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "book").rglob("*.ipynb"))
RAW = re.compile(r"\{[a-z:]+\}`|^(?:```\{|:::)", re.MULTILINE)

FORMS = {
    "a citation": "It is known {cite}`vaswani2017`.",
    "two citations": "It is known {cite}`bahdanau2015,luong2015`, as said.",
    "one that is not on the net": "Bytes {cite}`gage1994` are merged.",
    "a value": "They have {glue:text}`share` of it.",
    "an experiment": "Try to {laboratory}`leave them out <positions=off&beam=4>`.",
    "a note": "Text.\n\n```{margin}\nA note with $x$.\n\nAnd more.\n```\n\nText.",
    "a note with a title": "```{margin} Words\nA note.\n```",
    "a box": ":::{admonition} Other ways\n:class: seealso\nOne {cite}`luong2015`.\n:::\n\nText.",
    "a warning": "Text.\n\n:::{admonition} A mistake\n:class: warning\nNo.\n:::",
    "code": "```python\nx = {}\n```",
}


@pytest.mark.slow
def test_no_notebook_shows_a_role_or_a_value_of_yesterday() -> None:
    """Where it does, `python tools/plain_notebooks.py` and its path write it anew."""
    for path in NOTEBOOKS:
        notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))  # not validated: seconds
        stored = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        assert not any(map(RAW.search, stored)), path
        make_plain(notebook, plain_notebooks.way_up(path))
        assert stored == [c.source for c in notebook.cells if c.cell_type == "markdown"], path


@pytest.mark.parametrize("form", FORMS)
def test_a_form_comes_back_as_it_was(form: str) -> None:
    plain = to_plain(FORMS[form], {"share": "36% [3, 7]"})
    assert not RAW.search(plain)
    assert to_roles(plain) == FORMS[form]


@pytest.mark.parametrize(
    ("form", "seen"),
    [
        ("a citation", "It is known (Vaswani et al., 2017)."),
        ("two citations", "It is known (Bahdanau et al., 2015; Luong et al., 2015), as said."),
        ("a value", "They have 36% of it."),
        ("an experiment", "Try to leave them out."),
        ("a warning", "Text. A mistake No."),
    ],
)
def test_a_viewer_shows_words(form: str, seen: str) -> None:
    """CommonMark, which every viewer knows; the comments and spans are no words."""
    html = MarkdownIt("commonmark").render(to_plain(FORMS[form], {"share": "36%"}))
    assert " ".join(re.sub(r"<!--.*?-->|<[^>]+>", "", html).split()) == seen


def test_a_value_is_that_of_the_output() -> None:
    data = {"application/papermill.record/text/plain": "'36% < 40%'"}
    scrap = {"scrapbook": {"mime_prefix": "application/papermill.record/", "name": "share"}}
    glued = new_code_cell(outputs=[new_output("display_data", data, metadata=scrap)])
    old = new_markdown_cell('Now <span title="share">7%</span>, then {glue:text}`gone`.')
    make_plain(new_notebook(cells=[old, glued]))
    assert old.source == ('Now <span title="share">36% &lt; 40%</span>, then {glue:text}`gone`.')


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("gage1994", "Gage, 1994"),
        ("hochreiter1997", "Hochreiter and Schmidhuber, 1997"),
        ("vaswani2017", "Vaswani et al., 2017"),
    ],
)
def test_a_paper_has_the_name_that_it_has_in_a_text(key: str, name: str) -> None:
    assert label(bibliography()[key]) == name


def test_an_ordinary_link_or_quotation_is_left_alone() -> None:
    text = '[a](b.ipynb "title") and ([c](https://x.org)).\n\n> **Bold** words\n> of others.\n'
    assert to_roles(text) == text

"""The pages made from committed files: status, citation, changelog, records; and their rules."""

import csv
import inspect
import re
import shutil
from dataclasses import replace
from importlib.metadata import PathDistribution
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name

import cite_page
import licences_page
import nbformat
import pytest
import records_page
from api_page import modules_of
from bs4 import BeautifulSoup
from equations import EQUATIONS, pattern, with_formulas
from formulas import mathml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from packaging.utils import canonicalize_name
from pybtex.database import parse_string

import notebook_status
from notebook_status import Run
from transformer_workbook.chapters import CHAPTERS

ROOT = Path(__file__).resolve().parent.parent
CFF = {
    "title": "A Course",
    "version": "1.2.0",
    "date-released": "2031-05-06",
    "authors": [{"name": "A. Uthor"}, {"name": "The Others"}],
}


def test_every_recorded_run_is_one_of_the_code_of_today() -> None:
    for name, run in notebook_status.read().items():
        assert notebook_status.is_current(run), f"run tools/run_notebooks.py on {name}"


def test_every_lesson_runs_in_the_memory_that_the_page_of_machines_names() -> None:
    lessons = [run for name, run in notebook_status.read().items() if name[0].isdigit()]
    assert len(lessons) == len(CHAPTERS)
    assert max(run.megabytes for run in lessons) < 2000


def test_the_digest_is_that_of_the_code_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"

    def digest(prose: str, code: str, count: int) -> str:
        cells = [new_markdown_cell(prose), new_code_cell(code, execution_count=count)]
        nbformat.write(new_notebook(cells=cells), path)
        return notebook_status.digest(path)

    first = digest("One.", "1 + 1", 1)
    assert digest("Two.", "1 + 1", 7) == first
    assert digest("One.", "1 + 2", 1) != first


def test_a_second_run_of_the_same_code_changes_no_byte(tmp_path: Path) -> None:
    """And what is no run of the code of today is left out."""
    record = tmp_path / "status.csv"
    now = notebook_status.digest(ROOT / "book" / "one_page.ipynb")
    first = Run("one_page", 10, 500, "2031-01-01", "3.11.2", "2.13.0", now)
    notebook_status.write([first, replace(first, notebook="gone")], record)
    before = record.read_bytes()
    notebook_status.write([replace(first, seconds=12, date="2031-01-02")], record)
    assert record.read_bytes() == before
    newer = replace(first, python="3.12.0")
    notebook_status.write([newer], record)
    assert notebook_status.read(record) == {"one_page": newer}
    notebook_status.write([replace(first, digest="0" * 12)], record)
    assert notebook_status.read(record) == {}


def test_the_citation_has_an_address_only_where_there_is_one() -> None:
    assert cite_page.sentence(CFF, "") == "A. Uthor, The Others (2031). A Course, version 1.2.0."
    assert cite_page.sentence(CFF, "https://x.org/y").endswith("1.2.0. https://x.org/y")
    for address, url in (("", {}), ("https://x.org/y", {"url": "https://x.org/y"})):
        text = cite_page.bibtex(CFF, address)
        entry = parse_string(text, "bibtex").entries[cite_page.KEY]
        assert [str(person) for person in entry.persons["author"]] == ["{A. Uthor}", "{The Others}"]
        known = {"version": "1.2.0", "year": "2031"} | url
        assert known.items() <= dict(entry.fields).items()
        assert ("url" in entry.fields) == bool(url)


def test_the_page_of_a_record_has_its_rows(tmp_path: Path) -> None:
    source = ROOT / "book" / "records" / "heads.csv"
    for suffix in (".csv", ".json"):
        shutil.copy(source.with_suffix(suffix), tmp_path)
    record = tmp_path / "heads.csv"
    record.write_text(record.read_text("utf-8").replace("Bahdanau", "<b>&"), encoding="utf-8")
    page = BeautifulSoup(records_page.page_of(record), "lxml")
    with record.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    assert [cell.text for cell in page.select("th")] == [name.replace("_", " ") for name in names]
    assert [[cell.text for cell in row.select("td")] for row in page.select("tbody tr")] == rows
    assert f"{len(rows)} rows" in page.text


def test_a_chapter_leads_to_the_modules_that_it_builds() -> None:
    assert modules_of("book/05_self_attention") == ["attention"]
    assert modules_of("book/10_why_attention") == []
    chapters = {path.stem for path in (ROOT / "book").glob("[0-9]*.ipynb")}
    led = [name for chapter in chapters for name in modules_of(f"book/{chapter}")]
    assert sorted(led) == sorted(chain.from_iterable(CHAPTERS.values()))


@pytest.mark.parametrize("name", EQUATIONS)
def test_the_equations_of_a_docstring_are_written_in_tex_too(name: str) -> None:
    docstring = inspect.getdoc(resolve_name(f"annotated_transformer.{name}"))
    for equation, tex in EQUATIONS[name].items():
        assert re.search(pattern(equation), docstring), equation
        assert mathml(tex, display=False).startswith("<math>")
    assert "math" in with_formulas(docstring, EQUATIONS[name])


def test_an_equation_ends_where_its_words_end() -> None:
    equations = {"d_k": "d_k", "a b": "a_b"}
    assert with_formulas("id_k, d_k2: d_k.", equations) == "id_k, d_k2: :math:`d_k.`"
    assert with_formulas("If a\nb is.", equations) == "If :math:`a_b` is."


def test_every_library_that_a_reader_installs_is_listed_with_a_licence() -> None:
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.txt").read_text("utf-8"), re.M)
    found = licences_page.libraries()
    assert set(found) <= set(map(canonicalize_name, locked))
    assert found["torch"][1] == "the package"
    assert found["jupyter-book"][1] == "the book"
    assert "pytest" not in found
    assert licences_page.licence(found["numpy"][0]).startswith("BSD-3-Clause")
    assert all(licences_page.licence(library) for library, _ in found.values())


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: no", "MIT OR Apache-2.0"),
        ("Classifier: License :: OSI Approved :: MIT License\nLicense: no", "MIT License"),
        (f"License: {'words ' * 20}", "see the library's own licence file"),
    ],
)
def test_a_licence_is_called_as_its_library_calls_it(
    tmp_path: Path, lines: str, words: str
) -> None:
    (tmp_path / "METADATA").write_text(f"Name: a\nVersion: 1\n{lines}\n", encoding="utf-8")
    assert licences_page.licence(PathDistribution(tmp_path)) == words

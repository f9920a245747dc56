"""The table of the examined sources is whole, and its page shows it.

What the notes print is recomputed in the cells that decide, which `make verify` runs.
"""

import csv
import re
from pathlib import Path

import nbformat
import pytest

from every_page import parsed
from lesson_rules import ASSERT

BOOK = Path(__file__).parent.parent / "book"
COLUMNS = ["document", "line", "says", "verdict", "why", "part", "chapter", "cell"]
VERDICTS = ["right", "loose", "wrong"]

with (BOOK / "sources.csv").open(newline="", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))


def test_the_rows_stand_once_and_in_the_order_of_the_documents_of_the_page():
    assert list(ROWS[0]) == COLUMNS
    page = (BOOK / "sources.md").read_text(encoding="utf-8")
    table = page.split("| --- | --- |\n")[1].split("\n\n")[0]
    documents = [line.split("|")[1].strip() for line in table.splitlines()]
    assert list(dict.fromkeys(row["document"] for row in ROWS)) == documents
    places = [(documents.index(row["document"]), int(row["line"])) for row in ROWS]
    assert places == sorted(places)
    assert len({(row["document"], row["line"], row["says"]) for row in ROWS}) == len(ROWS)


def test_every_row_is_complete():
    """It says what stands where, and a verdict is decided by a cell or by a citation."""
    references = (BOOK / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"@\w+\{(\w+),", references))
    for row in ROWS:
        keys = re.findall(r"\{cite\}`([^`]*)`", row["why"])
        cited = {key for each in keys for key in each.split(",")}
        assert cited <= known, row
        assert all(row[column] for column in ("document", "line", "says", "why")), row
        assert row["part"] in {"I", "II", "III"}, row
        assert not any(row[column].count("$") % 2 for column in ("says", "why")), row
        assert bool(row["chapter"]) == bool(row["cell"]), row
        assert re.fullmatch(r"(decides(-[a-z]+)+)?", row["cell"]), row
        assert row["verdict"] in VERDICTS, row
        assert row["cell"] or cited, row


DECIDED = {(row["chapter"], row["cell"]) for row in ROWS if row["cell"]}


def test_the_cells_that_decide_are_there_and_each_decides_a_row():
    """Each is there once, can be seen, and shows it."""
    tags = []
    for path in BOOK.rglob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for tag in cell.metadata.get("tags", []):
                if tag.startswith("decides-"):
                    tags.append((path.relative_to(BOOK).with_suffix("").as_posix(), tag))
                    assert cell.cell_type == "code", tag
                    assert not {"remove-cell", "remove_cell"} & set(cell.metadata.tags), tag
                    assert cell.outputs or ASSERT.search(cell.source), tag
    assert sorted(tags) == sorted(DECIDED)


@pytest.mark.slow
def test_the_page_shows_every_row_with_a_link_to_its_cell(site):
    """Where the links lead is asked of all pages (`test_site.py`)."""
    page = parsed(site / "book" / "sources.html", "article")
    shown = page.select("section[id^=part-] section table tbody tr")
    in_order = sorted(ROWS, key=lambda row: row["part"])  # I, II, III, and the sort is stable
    for row, written in zip(shown, in_order, strict=True):
        cells = [cell.get_text() for cell in row.select("td")]
        assert cells[:2] == [written["line"], written["verdict"]]
        assert not re.search(r"\$|\{cite\}", row.get_text())
        formulas = (written["says"] + written["why"]).count("$") // 2
        assert len(row.select("math")) == formulas
        links = [link["href"] for link in row.select("a[href*=decides-]")]
        target = f"{written['chapter']}.html#{written['cell']}"
        assert links == ([target] if written["cell"] else [])


@pytest.mark.slow
def test_the_verdicts_are_counted(site):
    page = parsed(site / "book" / "sources.html", "article")
    (table,) = page.select("#how-to-read-the-tables table")
    counts = [[cell.get_text() for cell in row.select("td")] for row in table.select("tr")[1:]]
    for part, *numbers in counts:
        verdicts = [row["verdict"] for row in ROWS if part in (row["part"], "all")]
        expected = [*map(verdicts.count, VERDICTS), len(verdicts)]
        assert numbers == [str(number) for number in expected]
    assert [part for part, *_ in counts] == ["I", "II", "III", "all"]

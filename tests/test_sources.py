"""The notes that the course grew from: what they print, computed by our code, and their table."""

import csv
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin

import nbformat
import pytest
import torch
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from annotated_transformer.masking import causal_mask
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.soft_lookup import masked_softmax
from lesson_rules import ASSERT
from oracles import assert_close

RECORDS = Path(__file__).parent.parent / "book" / "records"


def rows_of(name):
    return list(csv.reader((RECORDS / name).read_text().splitlines()))[1:]


def printed(matrix):
    """One matrix of the example of masked attention, as the note prints it."""
    return [numbers for kind, _, *numbers in rows_of("note_masked_softmax.csv") if kind == matrix]


def weights_when_divided_by(divisor):
    scores = torch.tensor([[float(number) for number in row] for row in printed("scores")])
    weights = masked_softmax(scores.double()[None, None] / divisor, causal_mask(4))[0, 0]
    # The note prints two decimals, and no decimals for what is exactly 0 or 1.
    return [
        [f"{w:.2f}" if 0 < w < 1 else f"{w:.0f}" for w in row] for row in weights.tolist()
    ]  # fmt: skip


def test_the_masked_scores_divided_by_four_give_the_printed_weights():
    assert weights_when_divided_by(4) == printed("weights")


@pytest.mark.parametrize("divisor", [1, 2, 8])
def test_no_other_likely_divisor_gives_them(divisor):
    assert weights_when_divided_by(divisor) != printed("weights")


def distances(encoding):
    return torch.cdist(encoding, encoding, compute_mode="donot_use_mm_for_euclid_dist")


def as_printed(matrix):
    return [[f"{distance:.3f}" for distance in row] for row in matrix.tolist()]


PRINTED_DISTANCES = [numbers for _, *numbers in rows_of("note_distances.csv")]


def test_the_printed_distances_are_not_those_of_the_formula_of_the_paper():
    computed = as_printed(distances(sinusoidal_encoding(10, 10)))
    assert [row[i] for i, row in enumerate(computed)] == ["0.000"] * 10
    same = sum(a == b for ours, note in zip(computed, PRINTED_DISTANCES, strict=True)
               for a, b in zip(ours, note, strict=True))  # fmt: skip
    assert same == 10  # the zeros from each position to itself


def test_the_printed_distances_are_those_of_a_frequency_for_every_column():
    position = torch.arange(10, dtype=torch.float64)[:, None]
    column = torch.arange(10, dtype=torch.float64)
    angle = position * 10000 ** (-column / 50)
    encoding = torch.where(column % 2 == 0, angle.sin(), angle.cos())
    assert as_printed(distances(encoding)) == PRINTED_DISTANCES


def test_in_ten_dimensions_distance_does_not_grow_with_the_offset():
    encoding = sinusoidal_encoding(10, 10)
    assert_close(encoding.norm(dim=1), torch.full((10,), 5**0.5, dtype=torch.float64))
    for start in range(4):
        near, far = encoding[start + 3], encoding[start + 6]
        assert (far - encoding[start]).norm() < (near - encoding[start]).norm()


def test_in_512_dimensions_distance_grows_up_to_an_offset_of_43():
    from_the_first = distances(sinusoidal_encoding(60, 512))[0]
    grows = from_the_first.diff() > 0
    assert grows[:43].all()
    assert not grows[43]


# --- the examined sources ------------------------------------------------------------------------

BOOK = RECORDS.parent
COLUMNS = ["document", "line", "says", "verdict", "why", "part", "chapter", "cell"]
VERDICTS = ["right", "loose", "wrong"]
PARTS = ["sources/part_1", "sources/part_2", "sources/part_3"]
CONF = """
import sys

sys.path.insert(0, {extensions!r})
extensions = ["myst_nb", "sphinx_design", "sphinxcontrib.bibtex", "sources_page"]
bibtex_bibfiles = ["book/references.bib"]
bibtex_reference_style = "author_year"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 2
nb_execution_mode = "off"
"""


with (BOOK / "sources.csv").open(newline="", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))


def test_the_rows_stand_in_the_order_of_the_documents_of_the_page():
    assert list(ROWS[0]) == COLUMNS
    page = (BOOK / "sources.md").read_text(encoding="utf-8")
    table = page.split("| --- | --- |\n")[1].split("\n\n")[0]
    documents = [line.split("|")[1].strip() for line in table.splitlines()]
    assert list(dict.fromkeys(row["document"] for row in ROWS)) == documents
    places = [(documents.index(row["document"]), int(row["line"])) for row in ROWS]
    assert places == sorted(places)


def test_no_row_stands_twice():
    assert len({(row["document"], row["line"], row["says"]) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['document']}, {row['line']}")
def test_every_row_is_complete(row):
    """It says what stands where, and a verdict is decided by a cell or by a citation."""
    keys = re.findall(r"\{cite\}`([^`]*)`", row["why"])
    cited = {key for each in keys for key in each.split(",")}
    references = (BOOK / "references.bib").read_text(encoding="utf-8")
    assert cited <= set(re.findall(r"@\w+\{(\w+),", references))
    assert row["document"]
    assert row["says"]
    assert re.fullmatch(r"[1-9]\d*", row["line"])
    assert row["part"] in {"I", "II", "III"}
    assert not any(row[column].count("$") % 2 for column in ("says", "why"))
    assert bool(row["chapter"]) == bool(row["cell"])
    assert re.fullmatch(r"(decides(-[a-z]+)+)?", row["cell"])
    assert row["verdict"] in VERDICTS
    assert row["why"]
    assert row["cell"] or cited


DECIDED = sorted({(row["chapter"], row["cell"]) for row in ROWS if row["cell"]})


@pytest.mark.parametrize(("chapter", "cell"), DECIDED, ids=lambda name: name)
def test_the_cell_that_decides_is_there(chapter, cell):
    """It is there once, can be seen, and shows it."""
    cells = nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4).cells
    (found,) = (each for each in cells if cell in each.metadata.get("tags", []))
    assert found.cell_type == "code"
    assert not {"remove-cell", "remove_cell"} & set(found.metadata.tags)
    assert found.outputs or ASSERT.search(found.source)


def test_every_cell_that_says_it_decides_does():
    tags = [
        (path.relative_to(BOOK).with_suffix("").as_posix(), tag)
        for path in BOOK.rglob("*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        for tag in cell.metadata.get("tags", [])
        if tag.startswith("decides-")
    ]
    assert set(tags) <= set(DECIDED)


def write_chapter(folder, chapter, tags):
    cells = [new_code_cell("assert True", metadata={"tags": [tag]}) for tag in tags]
    cells = [new_markdown_cell(f"# {chapter}"), *cells]
    metadata = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    path = folder / f"{chapter}.ipynb"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=cells, metadata=metadata), path)


# --- their pages ---------------------------------------------------------------------------------


def build(folder, chapters):
    """Build the real pages and their real table, beside chapters that hold nothing but the tags."""
    book = folder / "book"
    (book / "sources").mkdir(parents=True)
    for name in ("sources.md", "sources.csv", "references.bib", *(f"{page}.md" for page in PARTS)):
        (book / name).write_bytes((BOOK / name).read_bytes())
    for chapter, tags in chapters.items():
        write_chapter(book, chapter, tags)
    pages = "\n".join(f"book/{name}" for name in ["sources", *PARTS, "references", *chapters])
    (folder / "index.md").write_text(f"# Index\n\n```{{toctree}}\n{pages}\n```\n")
    (book / "references.md").write_text("# References\n\n```{bibliography}\n```\n")
    (folder / "conf.py").write_text(CONF.format(extensions=str(BOOK / "_ext")))
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", folder]
    return subprocess.run([*command, folder / "html"], capture_output=True, text=True, check=False)


def all_tags():
    chapters = {}
    for chapter, tag in DECIDED:
        chapters.setdefault(chapter, []).append(tag)
    return chapters


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    result = build(folder, all_tags())
    assert result.returncode == 0, result.stderr
    html = folder / "html" / "book"
    return {
        path.relative_to(html).as_posix(): BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")
        for path in html.rglob("*.html")
    }


def examined(site):
    """The rows of the tables of the three parts."""
    pages = (site[f"{name}.html"] for name in PARTS)
    return [
        row for page in pages for row in page.select("section[id^=part-] section table tbody tr")
    ]


@pytest.mark.slow
def test_the_pages_show_every_row_of_the_file(site):
    shown = examined(site)
    assert len(shown) == len(ROWS)
    in_order = sorted(ROWS, key=lambda row: row["part"])  # I, II, III, and the sort is stable
    for row, written in zip(shown, in_order, strict=True):
        cells = [cell.get_text() for cell in row.select("td")]
        assert cells[0] == written["line"]
        assert cells[1] == written["verdict"]
        assert ("$" in row.get_text(), "{cite}" in row.get_text()) == (False, False)
        formulas = (written["says"] + written["why"]).count("$") // 2
        assert len(row.select("span.math")) == formulas


@pytest.mark.slow
def test_every_decided_row_links_to_its_cell(site):
    shown = examined(site)
    in_order = sorted(ROWS, key=lambda row: row["part"])
    for row, written in zip(shown, in_order, strict=True):
        links = [
            urljoin("sources/part_1.html", link["href"]) for link in row.select("a[href*=decides-]")
        ]
        target = f"{written['chapter']}.html#{written['cell']}"
        assert links == ([target] if written["cell"] else [])
        if links:
            (cell,) = site[f"{written['chapter']}.html"].select(f"#{written['cell']}")
            assert "assert" in cell.get_text()


@pytest.mark.slow
def test_the_verdicts_are_counted(site):
    (table,) = site["sources.html"].select("#how-to-read-the-tables table")
    counts = [[cell.get_text() for cell in row.select("td")] for row in table.select("tr")[1:]]
    for part, *numbers in counts:
        verdicts = [row["verdict"] for row in ROWS if part in (row["part"], "all")]
        expected = [*map(verdicts.count, VERDICTS), len(verdicts)]
        assert numbers == [str(number) for number in expected]
    assert [part for part, *_ in counts] == ["I", "II", "III", "all"]


@pytest.mark.slow
def test_an_unknown_tag_and_a_missing_page_are_reported(tmp_path):
    chapters = all_tags()
    poorer, missing, *_ = chapters
    unknown = chapters[poorer].pop()
    tags = chapters.pop(missing)
    result = build(tmp_path, chapters)
    assert result.returncode != 0
    assert f"no cell of {poorer} has the tag {unknown}" in result.stderr
    assert all(f"no cell of {missing} has the tag {tag}" in result.stderr for tag in tags)

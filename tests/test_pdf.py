"""The PDF has all pages in their order, and their numbers."""

import unicodedata
from pathlib import Path

import pytest
from contents import Entry, entries, write_pages
from playwright.sync_api import Browser

import make_pdf
from annotated_transformer import __version__
from browser import serve

FOLD = "<details><summary><p>{0}</p>\n<p>{0}</p></summary><div>{1}</div></details>"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>x</title></head><body>
<article><h1><span>{number}</span> {title}<a class="headerlink" href="#x">#</a></h1>
<p>Text of {title}. <a href="b.html">elsewhere</a></p>{folds}</article></body></html>"""


def write(folder: Path, name: str, number: str, title: str, folds: str = "") -> None:
    html = PAGE.format(number=number, title=title, folds=folds)
    (folder / f"{name}.html").write_text(html, encoding="utf-8")


def test_the_pdf_is_complete(tmp_path: Path, browser: Browser) -> None:
    """Of two pages, the first with a hint and another fold."""
    folds = FOLD.format("Hint", "think first") + FOLD.format("The proof", "folded away")
    write(tmp_path, "a", "1.", "Alpha", folds)
    write(tmp_path, "b", "2.", "Beta")
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "site.css").write_text("html, body { background: white }")
    with serve(tmp_path) as base, browser.new_page() as page:
        pages = [Entry("First", "a", True), Entry("Second", "b", True)]
        parts = make_pdf.print_pages(page, base, pages)
        names = {"language": "en", "title": "A course", "contents": "Contents", "root": base}
        writer = make_pdf.joined(page, names, parts)
        [above] = make_pdf.sheet(page, names, "7", "0").pages
        signs = {sign for _, sign in above.get_contents().operations}
    outline = [entry.title for entry in writer.outline if not isinstance(entry, list)]
    assert outline == ["Contents", "First", "Second"]
    links = [str(a.get_object()) for page in writer.pages for a in page.get("/Annots", [])]
    assert not any("/Link" in link and "b.html" in link for link in links)
    # Some fonts draw two letters as one.
    told = [unicodedata.normalize("NFKC", page.extract_text()) for page in writer.pages]
    texts = [" ".join(text.split()) for text in told]
    cover, contents, alpha, beta = texts
    assert cover == f"A course version {__version__}"
    assert contents == "Contents First 1. Alpha 3 Second 2. Beta 4 2"
    assert "Text of Alpha." in alpha
    assert "think first" in alpha
    assert "folded" not in alpha
    assert "Text of Beta." in beta
    assert signs.isdisjoint({b"f", b"f*"})  # what is filled hides the page below its number
    assert [text.rsplit(" ", 1)[-1] for text in texts[1:]] == ["2", "3", "4"]


def test_what_is_wider_than_a_sheet_is_told(tmp_path: Path, browser: Browser) -> None:
    write(tmp_path, "a", "1.", "Alpha", f"<pre style='overflow: auto'>{'x' * 200}</pre>")
    with (
        serve(tmp_path) as base,
        browser.new_page() as page,
        pytest.raises(ValueError, match="a: <pre"),
    ):
        make_pdf.print_pages(page, base, [Entry("First", "a", True)])


def test_the_pages_are_those_of_the_contents(tmp_path: Path) -> None:
    contents = """
root: a
parts:
  - caption: One
    numbered: true
    chapters:
      - file: b
        sections:
          - file: c
  - caption: Two
    chapters:
      - file: d
        sections:
          - glob: d/*
"""
    (tmp_path / "_toc.yml").write_text(contents, encoding="utf-8")
    found = [Entry("", "a", False), Entry("One", "b", True), Entry("One", "c", False)]
    assert list(entries(tmp_path)) == [*found, Entry("Two", "d", False)]
    write_pages(tmp_path / "d", {"new": "# New\n", "old": "# Old\n"})
    written = (tmp_path / "d" / "new.md").stat().st_mtime_ns
    write_pages(tmp_path / "d", {"new": "# New\n", "a": "# A\n"})
    assert (tmp_path / "d" / "new.md").stat().st_mtime_ns == written
    last = [Entry("Two", name, False) for name in ("d", "d/a", "d/new")]
    assert list(entries(tmp_path)) == [*found, *last]

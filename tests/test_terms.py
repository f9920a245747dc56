"""The terms: a chapter's glossary agrees with the book's, and private words are nowhere."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

from transformer_workbook.lessons.plain_markdown import to_roles

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
CHAPTERS = sorted(BOOK.glob("[0-9]*.ipynb"))
HEADER = "| term | 한국어 | meaning |"


def glossary_of(page: str) -> dict[str, str]:
    """The Korean word of each term; where there is none, Korean keeps the English."""
    _, entries = page.split("```{glossary-by-letter}\n")
    words = {}
    for entry in entries.split("\n```")[0].strip().split("\n\n"):
        term, *korean = [line for line in entry.splitlines() if not line.startswith(" ")]
        assert len(korean) < 2, f"{term}: one Korean line"
        assert term not in words, f"{term}: one entry"
        words[term] = korean[0] if korean else term
    return words


def tables_in(text: str) -> list[tuple[str, str]]:
    """The terms and Korean words of the glossaries in a text."""
    rows = []
    for table in re.findall(rf"^{re.escape(HEADER)}\n\|[ |-]+\|\n((?:\|.*\n?)+)", text, re.M):
        for row in table.splitlines():
            term, korean, _ = (cell.strip() for cell in row.strip("|").split("|", maxsplit=2))
            rows.append((term, korean))
    return rows


GLOSSARY = glossary_of((BOOK / "glossary.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapters_glossary_agrees_with_the_books(path: Path) -> None:
    pages = [page for page in (path, BOOK / "further" / path.name) if page.exists()]
    cells = [cell for page in pages for cell in nbformat.read(page, as_version=4).cells]
    text = "\n".join(to_roles(cell.source) for cell in cells if cell.cell_type == "markdown")
    rows = tables_in(text)
    assert text.count("한국어") == 1, "a chapter has one glossary"
    assert rows, "and it can be read"
    assert [(term, GLOSSARY.get(term)) for term, _ in rows] == rows
    assert len(dict(rows)) == len(rows), "a word stands in the table twice"


def test_the_glossary_is_in_alphabetical_order() -> None:
    plain = [re.sub("[^a-z ]", "", re.sub("[-–/]", " ", term.lower())) for term in GLOSSARY]
    assert plain == sorted(plain)


def test_each_english_word_has_one_korean_word() -> None:
    """What else is in use stands in parentheses, so commas part the same words on both sides."""
    for term, korean in GLOSSARY.items():
        assert re.sub(r"\(.*?\)", "", korean).count(",") == term.count(","), term


NEVER = {
    r"\blikelier\b": "more probable",
    r"\blikeliest\b": "most probable",
    r"\bgraphics cards?\b": "GPU",
    r"\bso manieth\b": "n-th",
    r"\b[Ww]hat is no (?!longer)": "what is not a",
    r"Vaswani and others": "Vaswani et al.",
    r"Classic mistakes": "Common pitfalls",
    r"New words": "Glossary",
    r"The way on\b": "Next",
    r"Now yours": "Build it yourself",
}
"""Private words, as patterns, and what the field says."""


def test_no_private_word_stands_for_a_term() -> None:
    """In what a reader reads: of notebooks the words, of programs all that has a space in it."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("contributing/*.md"), *BOOK.rglob("*.md")]
    files += [*BOOK.glob("_static/laboratory/*.js"), *ROOT.glob("transformer_workbook/**/*.toml")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    for path in BOOK.rglob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        # A glued number carries its name, which is that of a column.
        words = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        texts.append(re.sub('<span title="[^"]*">', "", words))
    for folder in ("annotated_transformer", "transformer_workbook", "experiments", "tools", "book"):
        for path in ROOT.glob(f"{folder}/**/*.py"):
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            texts += [node.value for node in nodes if isinstance(node, ast.Constant)
                      and isinstance(node.value, str) and " " in node.value]  # fmt: skip
    never = re.compile("|".join(NEVER))
    assert [match[0] for text in texts for match in never.finditer(text)] == []

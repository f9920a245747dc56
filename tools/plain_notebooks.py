"""Write the roles and directives of notebooks as Markdown that every viewer shows.

`transformer_workbook/lessons/plain_markdown.py` describes the forms. Values and names are updated
each time: they come from the cells' outputs and the bibliography.

    python tools/plain_notebooks.py book/*.ipynb book/*/*.ipynb
"""

import ast
import sys
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from pybtex.database import Entry, parse_file

from transformer_workbook.lessons import plain_markdown

ROOT = Path(__file__).resolve().parent.parent


@cache
def bibliography() -> dict[str, Entry]:
    """Return the entries by their keys."""
    return dict(parse_file(ROOT / "book" / "references.bib").entries)


def label(entry: Entry) -> str:
    """Return authors and year, as in a text."""
    people = [
        " ".join(
            name.render_as("text") for name in person.rich_prelast_names + person.rich_last_names
        )
        for person in entry.persons["author"]
    ]
    names = " and ".join(people) if len(people) < 3 else f"{people[0]} et al."
    return f"{names}, {entry.fields['year']}"


def address(entry: Entry, up: str) -> str:
    """Return the address of a paper; the book's own list if it is not on the net."""
    url = entry.fields.get("url") or entry.fields.get("doi") or f"{up}references.md"
    url = f"https://doi.org/{url}" if url.startswith("10.") else url
    return url.replace("(", "%28").replace(")", "%29")


def glued(cells: Iterable[NotebookNode]) -> dict[str, str]:
    """Return the values that the cells have glued, by their names."""
    values = {}
    for cell in cells:
        for output in cell.get("outputs", []):
            if scrap := output.get("metadata", {}).get("scrapbook"):
                text = output.data[f"{scrap['mime_prefix']}text/plain"]
                values[scrap["name"]] = str(ast.literal_eval(text))
    return values


def to_plain(markdown: str, values: dict[str, str], up: str = "") -> str:
    """Return the Markdown of a cell without roles and directives.

    A value without an output keeps its role, which a test finds. ``up`` leads to the book's folder.
    """

    def paper(key: str) -> str:
        entry = bibliography()[key]
        return f'[{label(entry)}]({address(entry, up)} "{key}")'

    def value(name: str) -> str:
        if name not in values:
            return f"{{glue:text}}`{name}`"
        return f'<span title="{name}">{escape(values[name], quote=False)}</span>'

    return plain_markdown.to_plain(plain_markdown.to_roles(markdown), paper, value, up)


def make_plain(notebook: NotebookNode, up: str = "") -> NotebookNode:
    """Write the Markdown of a notebook as every viewer shows it."""
    values = glued(notebook.cells)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = to_plain(cell.source, values, up)
    return notebook


def way_up(path: Path) -> str:
    """Return the relative path from a notebook to the book's folder."""
    return "../" * (len(path.resolve().relative_to(ROOT / "book").parts) - 1)


def main(paths: list[Path]) -> None:
    """Rewrite notebooks whose Markdown is not plain or not up to date."""
    for path in paths:
        before = path.read_text(encoding="utf-8")
        notebook = make_plain(nbformat.reads(before, as_version=4), way_up(path))
        after = nbformat.writes(notebook).rstrip("\n") + "\n"
        if after != before:
            path.write_text(after, encoding="utf-8")
            print(f"{path}: written")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])

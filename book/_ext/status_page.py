"""The status of the notebooks and of their translation.

What ``tools/run_notebooks.py`` has recorded of the last runs, and how much of a page is translated.
"""

import csv
import json
from pathlib import Path
from typing import Any

from catalogues import expected_pages
from contents import entries
from docutils import nodes
from editions import TRANSLATED
from languages import translated
from sources_page import Cell, table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

COLUMNS = {"notebook": 38, "seconds": 12, "MB": 9, "run on": 14, "Python": 13, "PyTorch": 15}
FIELDS = ("seconds", "megabytes", "date", "python", "torch")


def title_of(notebook: dict[str, Any]) -> str:
    """Return the heading of a notebook."""
    lines = "".join(notebook["cells"][0]["source"]).splitlines()
    return next(line for line in lines if line.startswith("# ")).removeprefix("# ")


class NotebooksStatus(SphinxDirective):
    """A row for every notebook of the contents, in their order."""

    def run(self) -> list[nodes.Node]:
        """Return one table."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        record = folder / "status.csv"
        self.env.note_dependency(str(record))
        with record.open(newline="", encoding="utf-8") as file:
            runs = {row["notebook"]: row for row in csv.DictReader(file)}
        names = [entry.name.removeprefix(f"{folder.name}/") for entry in entries()]
        pages = {name: folder / f"{name}.ipynb" for name in names}
        body = [self.row(name, p, runs.get(name)) for name, p in pages.items() if p.exists()]
        return [table(COLUMNS, body, "short", "runs")]

    def row(self, name: str, path: Path, run: dict[str, str] | None) -> list[Cell]:
        """Describe one notebook by its last run."""
        self.env.note_dependency(str(path))
        cells = [run[field] if run else "–" for field in FIELDS]
        title = title_of(json.loads(path.read_text(encoding="utf-8")))
        title = translated(self.env.app, f"book/{name}", title)
        link = nodes.reference("", title, refuri=f"{name}.html", internal=True)
        return [[link], *([nodes.Text(cell)] for cell in cells)]


class Translations(nodes.Element):
    """The place of a table that needs all pages to be read."""


class TranslationsStatus(SphinxDirective):
    """A row for every page that has, or waits for, a catalogue: how much of it is translated."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the table."""
        return [Translations()]


def show_translations(app: Sphinx, document: nodes.document, _page: str) -> None:
    """Put the table into its place."""
    for place in document.findall(Translations):
        body: list[list[Cell]] = []
        for page in sorted({page for language in TRANSLATED for page in expected_pages(language)}):
            address = f"{page.removeprefix('book/')}.html"
            shares = [app.env.metadata[page][language] for language in TRANSLATED]
            cells = [[nodes.Text(f"{share:.0%}")] for share in shares]
            body.append([[nodes.reference("", page, refuri=address, internal=True)], *cells])
        columns = {"page": 75} | {edition.name: 25 for edition in TRANSLATED.values()}
        place.replace_self(table(columns, body, "short", "translations"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("notebooks-status", NotebooksStatus)
    app.add_directive("translations-status", TranslationsStatus)
    app.connect("doctree-resolved", show_translations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

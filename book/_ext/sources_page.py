"""The page of the examined sources: tables made from the file ``book/sources.csv``.

A row names the cell that decides it by the cell's tag, ``decides-…``. The written page of the
chapter or the appendix has that tag as an anchor, and the row links to it.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

FILE = "book/sources.csv"
PARTS = ("I", "II", "III")
VERDICTS = ("right", "loose", "wrong")
PREFIX = "decides-"

Cell = list[nodes.Node]
logger = logging.getLogger(__name__)


def table(columns: dict[str, int], body: Iterable[list[Cell]], *kinds: str) -> nodes.table:
    """Build a table of paragraphs or texts from the names and widths of its columns, and its rows.

    Its kinds are classes by which the style sheet knows it.
    """

    def entry(cell: Cell) -> nodes.entry:
        is_text = not cell or isinstance(cell[0], nodes.Text | nodes.Inline)
        return nodes.entry("", *([nodes.paragraph("", "", *cell)] if is_text else cell))

    def row(cells: Iterable[Cell]) -> nodes.row:
        return nodes.row("", *map(entry, cells))

    group = nodes.tgroup(
        "",
        *(nodes.colspec(colwidth=width) for width in columns.values()),
        nodes.thead("", row([nodes.Text(name)] for name in columns)),
        nodes.tbody("", *map(row, body)),
        cols=len(columns),
    )
    return nodes.table("", group, classes=["sources", "colwidths-given", *kinds])


class Messages(SphinxDirective):
    """A directive with messages inside a table or a list, where they would have no source."""

    def message(self, text: str) -> nodes.paragraph:
        """Write what the catalogue of the page may have in another language."""
        node = nodes.paragraph(text, "", *self.parse_inline(text)[0])
        self.set_source_info(node)
        return node


class SourcesDirective(Messages):
    """What both directives share: the rows of the file."""

    def rows(self) -> list[dict[str, str]]:
        """Read the file, and rebuild the page when it changes."""
        path = Path(self.env.srcdir, FILE)
        self.env.note_dependency(str(path))
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


class SourcesCounts(SourcesDirective):
    """How many rows of each part have each verdict."""

    def run(self) -> list[nodes.Node]:
        """Return one table."""
        counts = Counter((row["part"], row["verdict"]) for row in self.rows())
        body = [[part, *(counts[part, kind] for kind in VERDICTS)] for part in PARTS]
        body.append([_("all"), *(sum(column) for column in list(zip(*body, strict=True))[1:])])
        cells = ([[nodes.Text(str(entry))] for entry in (*row, sum(row[1:]))] for row in body)
        verdicts = dict.fromkeys((_("right"), _("loose"), _("wrong")), 24)
        return [table({_("part"): 12, **verdicts, _("all"): 16}, cells, "numbers")]


class SourcesTable(SourcesDirective):
    """The rows of one part: a section with a table for each document."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        part = self.arguments[0]
        rows = [row for row in self.rows() if row["part"] == part]
        columns = {_("line"): 7, _("verdict"): 11, _("what it says"): 41, _("why"): 41}
        sections = []
        for document, group in groupby(rows, lambda row: row["document"]):
            title = nodes.title("", document[0].upper() + document[1:])
            body = table(columns, map(self.row, group), "examined")
            section = nodes.section("", title, body)
            section["ids"] = [nodes.make_id(f"part {part} {document}")]
            self.state.document.note_explicit_target(section)
            sections.append(section)
        return sections

    def row(self, row: dict[str, str]) -> list[Cell]:
        """Write the four cells of a row."""
        kind = row["verdict"]
        verdict = nodes.inline("", _(kind), classes=[f"verdict-{kind}"])
        why: Cell = [self.message(row["why"])]
        if row["cell"]:
            why.append(nodes.paragraph("", "", self.link(row["chapter"], row["cell"])))
        return [[nodes.Text(row["line"])], [verdict], [self.message(row["says"])], why]

    def link(self, chapter: str, tag: str) -> nodes.Node:
        """Link to the deciding cell, which stands on a chapter or on an appendix."""
        docname = f"{Path(FILE).parent}/{chapter}"
        path = Path(self.env.doc2path(docname))
        self.env.note_dependency(str(path))
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else []
        if not any(tag in cell["metadata"].get("tags", []) for cell in cells):
            message = "no cell of %s has the tag %s"
            logger.warning(message, chapter, tag, location=self.get_location())
        page = self.env.app.builder.get_relative_uri(self.env.docname, docname)
        return nodes.reference("", _("Decided here."), refuri=f"{page}#{tag}", internal=True)


def name_cells(_app: Sphinx, doctree: nodes.document) -> None:
    """Give each cell that decides something its tag as an anchor."""
    for cell in doctree.findall(nodes.container):
        classes = (name.removeprefix("tag_") for name in cell["classes"])
        cell["ids"] += [name for name in classes if name.startswith(PREFIX)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("sources-counts", SourcesCounts)
    app.add_directive("sources-table", SourcesTable)
    app.connect("doctree-read", name_cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

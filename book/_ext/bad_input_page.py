"""The page of bad input: the input and the message, from the table that tests run."""

import csv
from pathlib import Path

from docutils import nodes
from sources_page import Cell, table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

COLUMNS = {"given": 45, "what is said": 55}


class BadInput(SphinxDirective):
    """The rows of one part of the table beside the page."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return one table."""
        path = Path(self.env.doc2path(self.env.docname)).with_suffix(".csv")
        self.env.note_dependency(str(path))
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["part"] == self.arguments[0]]
        return [table(COLUMNS, map(self.row, rows))]

    def row(self, row: dict[str, str]) -> list[Cell]:
        """Show the input, with the text of its file if it has one, and the sentence."""
        given: Cell = [nodes.literal("", row["given"])]
        if row["holds"]:
            given += [nodes.Text(", the file holds "), nodes.literal("", row["holds"])]
        return [given, [nodes.Text(row["says"])]]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("bad-input", BadInput)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

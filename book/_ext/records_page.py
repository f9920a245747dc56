"""The table of the records: their content, what would refute their sentence, and the result.

It is read from the JSON files beside the tables in the folder ``records``. Each record
has its own page with its rows, which the build adds.
"""

import csv
import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sources_page import table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class RecordsTable(SphinxDirective):
    """One row for each record that is made by the command given."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        folder = Path(self.env.doc2path(self.env.docname)).with_suffix("")
        body = []
        for path in sorted(folder.glob("*.json")):
            self.env.note_dependency(str(path))
            made = json.loads(path.read_text(encoding="utf-8"))
            if made["command"] == self.arguments[0]:
                name = nodes.reference("", "", nodes.literal("", path.stem), internal=True)
                name["refuri"] = f"{folder.name}/{path.stem}.html"
                about, refuter = (self.parse_inline(made[key])[0] for key in ("about", "refuter"))
                body.append([[name], about, refuter])
        columns = {"table": 18, "what it holds": 34, "what would refute it, and what came out": 48}
        return [table(columns, body)]


def page_of(record: Path) -> str:
    """Write the page of a record: its content, how it was made, and its rows."""
    made = json.loads(record.with_suffix(".json").read_text(encoding="utf-8"))
    with record.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    head = "".join(f'<th scope="col">{escape(name.replace("_", " "))}</th>' for name in names)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{escape(value)}</td>' for value in row)}</tr>" for row in rows
    )
    made_by = f"Made by <code>{made['command']}</code> with Python {made['python']} and PyTorch "
    return (
        f"<h1>{record.stem}</h1>\n<p>{escape(made['about'])}</p>\n"
        f"<p>{made_by}{made['torch']} on {escape(made['machine'])}. {len(rows)} rows; "
        f'<a href="{record.name}" download>download them as CSV</a>. '
        '<a href="../records.html">All records</a></p>\n'
        f'<div class="record-rows" tabindex="0" role="region" aria-label="Rows of {record.stem}">'
        f'<table class="table"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'
    )


def records_of(app: Sphinx) -> list[Path]:
    """Return the tables that have a description."""
    folder = Path(app.srcdir, "book", "records")
    return [path.with_suffix(".csv") for path in sorted(folder.glob("*.json"))]


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the pages of the records for the builder."""
    for record in records_of(app):
        context = {"title": f"The record {record.stem}", "body": page_of(record)}
        yield f"book/records/{record.stem}", context, "page.html"


def copy_rows(app: Sphinx, error: Exception | None) -> None:
    """Copy the tables beside their pages."""
    if not error and app.builder.format == "html":
        for record in records_of(app):
            target = Path(app.outdir, "book", "records", record.name)
            target.write_bytes(record.read_bytes())


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("records-table", RecordsTable)
    app.connect("html-collect-pages", pages)
    app.connect("build-finished", copy_rows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

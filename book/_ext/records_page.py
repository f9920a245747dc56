"""The table of the records: what each holds, what would refute its sentence, and what came out.

It is read from the JSON files that stand beside the tables in the folder ``records``.
"""

import json
from pathlib import Path

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
                name = nodes.literal("", path.stem)
                about, refuter = (self.parse_inline(made[key])[0] for key in ("about", "refuter"))
                body.append([[name], about, refuter])
        columns = {"table": 18, "what it holds": 34, "what would refute it, and what came out": 48}
        return [table(columns, body)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("records-table", RecordsTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

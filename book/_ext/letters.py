"""A row of links that stays in sight on a long page: its letters, or its parts."""

import re

from docutils import nodes
from sphinx.application import Sphinx


def show(app: Sphinx, document: nodes.document) -> None:
    """Write the row of the glossary's letters, or of the sources' parts, below the beginning."""
    anchors: dict[str, str] = {}
    if app.env.docname == "book/glossary":
        for item in document.findall(nodes.definition_list_item):
            letter = next(filter(str.isascii, re.findall(r"[^\W\d_]", item.astext())))
            anchors.setdefault(letter.upper(), item[0]["ids"][0])
    elif app.env.docname == "book/sources":
        for section in document.findall(nodes.section):
            if part := re.match(r"(Part \w+):", section[0].astext()):
                anchors[part[1]] = section["ids"][0]
    if anchors:
        row = nodes.paragraph(classes=["letters"])
        for name, anchor in anchors.items():
            row += [nodes.reference("", name, refid=anchor, internal=True), nodes.Text(" ")]
        next(document.findall(nodes.section)).insert(2, row)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The section "More exercises" is folded, so that a page asks for an evening and not for a week."""

from docutils import nodes
from sphinx.application import Sphinx

ANCHOR = "more-exercises"


def fold(_app: Sphinx, document: nodes.document) -> None:
    """Put the whole section after its heading into a fold."""
    for section in document.findall(nodes.section):
        if ANCHOR in section["ids"]:
            opening = "<details class='more-exercises'><summary>Show them</summary>"
            section.insert(1, nodes.raw("", opening, format="html"))
            section += nodes.raw("", "</details>", format="html")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", fold)
    return {"parallel_read_safe": True}

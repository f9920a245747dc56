"""A fold whose label begins with a tick is a proof: the style sheet may show it as one."""

from docutils import nodes
from sphinx.application import Sphinx


def mark(_app: Sphinx, document: nodes.document) -> None:
    """Give the cells of proofs a class of their own."""
    for cell in document.findall(nodes.container):
        if cell.get("prompt_show", "").startswith("✓"):
            cell["classes"].append("proof")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True}

"""Notebooks are read with roles and directives in place of their plain Markdown."""

import json

from sphinx.application import Sphinx

from transformer_workbook.lessons.plain_markdown import to_roles


def read_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Hand a notebook to its parser with roles and directives."""
    if not app.env.doc2path(name).endswith(".ipynb"):
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = to_roles("".join(cell["source"]))
    source[0] = json.dumps(notebook, ensure_ascii=False)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Under each proof of a lesson, its code in a fold."""

import inspect
import re
from importlib import import_module
from types import ModuleType

from docutils import nodes
from sphinx.application import Sphinx

from transformer_workbook.notebook.listing import compact

IMPORTED = re.compile(r"(?m)^from transformer_workbook\.proofs import \(?\s*(\w+) as proofs\b")
CALLED = re.compile(r"(?m)^proofs\.(\w+)\(")


def mark(_app: Sphinx, document: nodes.document) -> None:
    """Give the cells of proofs a class of their own."""
    for cell in document.findall(nodes.container):
        if cell.get("prompt_show", "").startswith("✓"):
            cell["classes"].append("proof")


def code_of(module: ModuleType, name: str) -> str:
    """Return the source of a function, after that of the private functions that it uses."""
    code = compact(inspect.getsource(getattr(module, name)))
    used = dict.fromkeys(re.findall(r"\b_[a-z]\w*(?=\()", code))
    return "\n\n".join([*(code_of(module, each) for each in used if each != name), code])


def show_code(app: Sphinx, document: nodes.document) -> None:
    """Fold the code of each proof that a cell calls under the cell."""
    module = None
    for cell in document.findall(nodes.container):
        if "cell" not in cell["classes"] or not (block := cell.next_node(nodes.literal_block)):
            continue
        if found := IMPORTED.search(block.astext()):
            module = import_module(f"transformer_workbook.chapters.{found[1]}.proofs")
            app.env.note_dependency(str(module.__file__))
        for name in CALLED.findall(block.astext()):
            code = code_of(module, name)
            summary = "<details class='proof'><summary>✓ The code of this proof</summary>"
            cell += nodes.raw("", summary, format="html")
            cell += nodes.literal_block(code, code, language="python")
            cell += nodes.raw("", "</details>", format="html")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", mark)
    app.connect("doctree-read", show_code)
    return {"parallel_read_safe": True}

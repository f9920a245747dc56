"""The page of the package's interface: every module from its docstrings, in the chapters' order."""

import pkgutil
import re
from dataclasses import MISSING, fields, is_dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import annotated_transformer
from transformer_workbook.chapters import CHAPTERS


def modules() -> list[str]:
    """Return the modules that are imported by name: first those of chapters, in their order.

    >>> modules()[:2]
    ['annotated_transformer.toy', 'annotated_transformer.examples']
    """
    inside = sorted(m.name for m in pkgutil.iter_modules(annotated_transformer.__path__))
    built = chain.from_iterable(CHAPTERS.values())
    names = dict.fromkeys([*built, *(name for name in inside if name != "__main__")])
    return [*(f"annotated_transformer.{name}" for name in names), "transformer_workbook.own"]


class Api(SphinxDirective):
    """A section for every module that is imported by its own name."""

    def run(self) -> list[nodes.Node]:
        """Write the sections as reStructuredText, which is the markup of docstrings."""
        lines = []
        for name in modules():
            lines += [f"## {name.partition('.')[2]}", "", "```{eval-rst}"]
            lines += [f".. automodule:: {name}", "   :members:", "```", ""]
        section = nodes.section()
        section.document = self.state.document
        self.state.nested_parse(StringList(lines, "modules"), 0, section, match_titles=True)
        return section.children


def modules_of(page: str) -> list[str]:
    """Return the modules that a chapter builds, by the name of its page.

    >>> modules_of("book/05_self_attention")
    ['attention']
    """
    return list(CHAPTERS.get(re.sub(r"^\d+_", "", Path(page).name), ()))


def lead_to_modules(app: Sphinx, document: nodes.document) -> None:
    """Add links at the end of a chapter to its modules on the page of the interface."""
    names = modules_of(app.env.docname)
    if not names or not app.env.docname.startswith("book/"):
        return
    line = nodes.paragraph("", "In the package: ", classes=["in-the-package"])
    page = app.builder.get_relative_uri(app.env.docname, "book/api")
    for number, name in enumerate(names):
        anchor = f"{page}#module-annotated_transformer.{name}"
        line += nodes.Text(", " if number else "")
        line += nodes.reference("", "", nodes.literal("", name), refuri=anchor, internal=True)
    next(document.findall(nodes.section)).append(line)


def shorten(
    _app: Sphinx, what: str, _name: str, thing: Any, _options: object, *_: str | None
) -> tuple[str, None] | None:
    """Show the settings of a dataclass with their defaults, without types and ranges."""
    if what != "class" or not is_dataclass(thing):
        return None
    settings = []
    for field in fields(thing):
        made = "" if field.default_factory is MISSING else "=…"
        settings.append(field.name + (made if field.default is MISSING else f"={field.default!r}"))
    return f"({', '.join(settings)})", None


def drop_ranges(app: Sphinx, document: nodes.document) -> None:
    """Hide the validator of a kind of setting: its docstring has its range."""
    if Path(app.env.docname).name == "api":
        for paragraph in list(document.findall(nodes.paragraph)):
            text = paragraph.astext()
            if text.startswith("alias of Annotated") and "FieldInfo" in text:
                paragraph.parent.remove(paragraph)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("package-api", Api)
    app.connect("doctree-read", lead_to_modules)
    app.connect("doctree-read", drop_ranges)
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True}

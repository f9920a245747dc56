"""The glossary: its page is an index of the terms, and each letter has a page with their meanings.

All entries stand in ``book/glossary.md``, in the form of Sphinx's ``glossary``. The pages of the
letters are made of them before Sphinx looks for pages. A line of the index has the anchor that the
term once had there.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from contents import entries, write_pages
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_id

BLOCK = re.compile(r"```\{glossary-by-letter\}\n(.*?)\n```", re.DOTALL)


def letters(entries: str) -> dict[str, list[str]]:
    """Return the entries of each letter.

    >>> list(letters("mask\\n  What hides.\\n\\nμP\\n  A parametrization."))
    ['M', 'P']
    """
    found = groupby(entries.split("\n\n"), lambda entry: entry.lstrip("μ")[0].upper())
    return {letter: list(own) for letter, own in found}


def row(found: dict[str, list[str]], folder: str = "") -> str:
    """Write the links to the pages of the letters."""
    links = "\n".join(f"[{letter}]({folder}{letter.lower()}.md)" for letter in found)
    return f":::{{div}} letters\n{links}\n:::"


def write_letters(app: Sphinx, _: Config) -> None:
    """Write the page of each letter."""
    page = Path(app.srcdir, "book", "glossary.md")
    found = letters(BLOCK.findall(page.read_text(encoding="utf-8"))[0])
    texts = {
        letter.lower(): f"# Glossary: {letter}\n\n{row(found)}\n\n"
        "```{glossary}\n" + "\n\n".join(own) + "\n```\n"
        for letter, own in found.items()
    }
    write_pages(page.with_suffix(""), texts)


def items(env: BuildEnvironment) -> Iterator[nodes.definition_list_item]:
    """Iterate over the entries on the pages of the letters, in the language of the book."""
    for entry in entries():
        if entry.name.startswith("book/glossary/"):
            yield from env.get_doctree(entry.name).findall(nodes.definition_list_item)


class GlossaryByLetter(SphinxDirective):
    """The letters and all terms, each with its Korean word and a link to its meaning."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the row of letters and a list."""
        found = letters("\n".join(self.content))
        items = [self.item(entry) for own in found.values() for entry in own]
        terms = nodes.bullet_list("", *items, classes=["terms"])
        return [*self.parse_text_to_nodes(row(found, "glossary/")), terms]

    def item(self, entry: str) -> nodes.list_item:
        """Write the line of one term."""
        term, *korean = [line for line in entry.splitlines() if not line.startswith(" ")]
        text = self.parse_inline(" ".join([f"{{term}}`{term}`", *korean]))[0]
        anchor = make_id(self.env, self.state.document, "term", term)
        return nodes.list_item("", nodes.paragraph("", "", *text), ids=[anchor])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("glossary-by-letter", GlossaryByLetter)
    app.connect("config-inited", write_letters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""How to cite the course, from ``CITATION.cff``: as a sentence and for BibTeX."""

from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

KEY = "annotated_transformer"


def year_of(cff: dict[str, Any]) -> str:
    """Return the year in which this version was released."""
    return str(cff["date-released"])[:4]


def fields_of(cff: dict[str, Any], address: str) -> dict[str, str]:
    """Return the fields of a BibTeX entry; the address is one of them where there is one."""
    fields = {
        "author": " and ".join(f"{{{author['name']}}}" for author in cff["authors"]),
        "title": f"{{{cff['title']}}}",
        "year": year_of(cff),
        "version": cff["version"],
    }
    return fields | ({"url": address} if address else {})


def bibtex(cff: dict[str, Any], address: str) -> str:
    """Return the entry for BibTeX."""
    lines = [f"  {name} = {{{value}}}," for name, value in fields_of(cff, address).items()]
    return "\n".join([f"@software{{{KEY},", *lines, "}"])


def sentence(cff: dict[str, Any], address: str) -> str:
    """Return the citation as it stands in a list of references."""
    authors = ", ".join(author["name"] for author in cff["authors"])
    end = f" {address}" if address else ""
    return f"{authors} ({year_of(cff)}). {cff['title']}, version {cff['version']}.{end}"


class Citation(SphinxDirective):
    """The sentence and the entry."""

    def run(self) -> list[nodes.Node]:
        """Return a quotation and a block of code."""
        path = Path(self.env.srcdir) / "CITATION.cff"
        self.env.note_dependency(str(path))
        cff = yaml.safe_load(path.read_text(encoding="utf-8"))
        address = self.config.html_theme_options.get("repository_url", "")
        quotation = nodes.block_quote("", nodes.paragraph("", sentence(cff, address)))
        entry = bibtex(cff, address)
        return [quotation, nodes.literal_block(entry, entry, language="bibtex")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("how-to-cite", Citation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

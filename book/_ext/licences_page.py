"""The licences of everything that a reader of the course installs, read from what is installed."""

from importlib.metadata import Distribution, distribution

from docutils import nodes
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sources_page import Cell, table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PACKAGE = "annotated-transformer"
PURPOSES = {
    "": "the package",
    "notebooks": "the notebooks",
    "book": "the book",
}
"""What needs a library first, by the extra of ``pyproject.toml`` that brings it."""
COLUMNS = {"library": 28, "version": 12, "licence": 42, "needed by": 18}
LONGEST = 60
"""Some libraries put the whole text of the licence where its name belongs."""


def licence(library: Distribution) -> str:
    """Return the name of a library's licence, in its own words."""
    metadata = library.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classes = [name for name in metadata.get_all("Classifier", []) if name.startswith("License ::")]
    if classes:
        return " or ".join(name.rpartition(" :: ")[2] for name in classes)
    words = metadata.get("License", "").strip()
    return words if 0 < len(words) <= LONGEST else "see the library's own licence file"


def needed(name: str, extra: str = "") -> dict[str, Distribution]:
    """Return a library and all that it needs, by the normalised name."""
    found: dict[str, Distribution] = {}
    waiting = [(name, frozenset({extra}))]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        name = canonicalize_name(name)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found[name] = distribution(name)
        for text in found[name].requires or []:
            wanted = Requirement(text)
            wanted_with = [{"extra": extra} for extra in extras or {""}]
            if wanted.marker is None or any(map(wanted.marker.evaluate, wanted_with)):
                waiting.append((wanted.name, frozenset(wanted.extras)))
    return found


def libraries() -> dict[str, tuple[Distribution, str]]:
    """Return every library and the first purpose that needs it, by the normalised name."""
    found: dict[str, tuple[Distribution, str]] = {}
    for extra, purpose in PURPOSES.items():
        for name, library in needed(PACKAGE, extra).items():
            found.setdefault(name, (library, purpose))
    del found[PACKAGE]
    return found


class Licences(SphinxDirective):
    """A row for every library, those first that the package itself needs."""

    def run(self) -> list[nodes.Node]:
        """Return one table."""
        order = list(PURPOSES.values())
        rows = sorted(libraries().items(), key=lambda item: (order.index(item[1][1]), item[0]))
        return [table(COLUMNS, (self.row(name, *found) for name, found in rows), "short")]

    def row(self, name: str, library: Distribution, purpose: str) -> list[Cell]:
        """Describe one library."""
        return [[nodes.Text(text)] for text in (name, library.version, licence(library), purpose)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("licences", Licences)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

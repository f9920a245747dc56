"""Mistakes: our source of a module with a change, and what is said of it.

``slips`` has a table for each module. A row belongs to a definition of ours, or to several, and its
change applies inside each of them alone::

    [["greedy, beam_search"]]
    says = "prefixes are not used."
    change = { "prefixes)" = "None)" }

The same text elsewhere in the module does not count, and neither do comments at the end of a line.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from transformer_workbook.judge.catalogue import changed, table
from transformer_workbook.own.definitions import extent, ours, source_of

SLIPS = Path(__file__).with_name("slips")
"""The mistakes that the check names."""


class Slip(NamedTuple):
    """A mistake in a module."""

    says: str
    places: tuple[str, ...]
    """The definitions that are changed."""
    source: str
    """The module with the mistake."""


def slips(module: str, folder: Path = SLIPS) -> Iterator[Slip]:
    """Iterate over the mistakes in a table, by definition.

    Raises:
        ValueError: if a change does not apply exactly once in each of its definitions.
    """
    for names, rows in table(folder / f"{module}.toml").items():
        places = tuple(names.split(", "))
        for row in rows:
            yield Slip(row["says"], places, spoiled(module, places, row["change"]))


def spoiled(module: str, places: tuple[str, ...], changes: Mapping[str, str]) -> str:
    """Return our source with changes in some definitions."""
    if unknown := [name for name in places if name not in ours(module)]:
        raise ValueError(f"there is no {unknown[0]} in {module}.")
    lines = re.sub(r"  # [^\"'\n]*$", "", source_of(module), flags=re.M).splitlines(keepends=True)
    # From the last to the first: what stands before a definition keeps its place.
    for part in sorted((extent(ours(module)[name]) for name in places), key=lambda s: -s.start):
        lines[part] = changed("".join(lines[part]), changes).splitlines(keepends=True)
    return "".join(lines)

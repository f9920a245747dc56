"""The package with one choice more in every table of choices: what is finished stays as it was.

A table of choices is one from which ``require_choice`` or ``one_of`` lets a reader choose.
"""

import re
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import annotated_transformer

ROOT = Path(annotated_transformer.__file__).parent
CHOSEN = re.compile(r"(?:require_choice|one_of)\((?:.*\b)?([A-Z_]+)\)")
NAME = "another"


def lengthen() -> set[str]:
    """Add a choice to every table, wherever it was imported; return the names of the tables."""
    modules = [
        import_module(found.name)
        for found in walk_packages(annotated_transformer.__path__, "annotated_transformer.")
        if not found.name.endswith("__main__")
    ]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py"))
    names = set(CHOSEN.findall(texts))
    longer = dict[int, tuple[Any, Any]]()  # the old ones are kept: their ids stay theirs
    for module in modules:
        for name in names & vars(module).keys():
            table = vars(module)[name]
            if id(table) not in longer:
                longer[id(table)] = table, with_another(table)
            setattr(module, name, longer[id(table)][1])
    return names


def with_another(table: Collection[str]) -> Collection[str]:
    """Return a table with one name more: a dictionary is changed itself, as a new line would."""
    if isinstance(table, dict):
        table[NAME] = next(iter(table.values()))
        return table
    return type(table)([*table, NAME])  # type: ignore[call-arg]

"""Aliases: what is in the folder of a chapter is imported by its kind, too.

>>> from transformer_workbook.proofs import masking  # chapters/masking/proofs.py
>>> masking.__name__
'transformer_workbook.chapters.masking.proofs'
"""

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

PLACES = {
    r"draw\.(\w+)": r"\1.figures",
    r"exercises\.find_the_bug_naming": "find_the_bug.naming",
    r"exercises\.(\w+)": r"\1.exercises",
    r"faulty\.(\w+)": r"find_the_bug.faulty.\1",
    r"proofs\.(\w+)": r"\1.proofs",
}
"""Where in ``chapters`` a module is; the first pattern that its name matches decides."""


def real_name(name: str) -> str:
    """Return the name of the module for which an alias stands; any other name is its own.

    >>> real_name("transformer_workbook.draw.masking")
    'transformer_workbook.chapters.masking.figures'
    """
    for alias, place in PLACES.items():
        if found := re.fullmatch(rf"transformer_workbook\.{alias}", name):
            return found.expand(f"transformer_workbook.chapters.{place}")
    return name


class Aliases(MetaPathFinder, Loader):
    """Imports a module of a chapter when it is asked for by its kind."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer for the modules that there are."""
        real = real_name(name)
        file = Path(__file__).parents[1].joinpath(*real.split(".")).with_suffix(".py")
        return ModuleSpec(name, self) if real != name and file.is_file() else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the chapter in place of an empty one."""
        sys.modules[module.__name__] = import_module(real_name(module.__name__))

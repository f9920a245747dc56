"""Old names: a module that has moved can be imported by its old name until version 2.0."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from warnings import warn

MOVED = {
    "annotated_transformer.cleaning": "annotated_transformer.text.cleaning",
    "annotated_transformer.devices": "annotated_transformer.ground.devices",
    "annotated_transformer.errors": "annotated_transformer.ground.errors",
    "annotated_transformer.examples": "annotated_transformer.text.examples",
    "annotated_transformer.inputs": "annotated_transformer.ground.inputs",
    "annotated_transformer.multi30k": "annotated_transformer.corpora.multi30k",
    "annotated_transformer.settings": "annotated_transformer.ground.settings",
}
"""The new name of each module by its old one. The pages of the interface keep the old anchors."""


class OldNames(MetaPathFinder, Loader):
    """Imports a module by its new name when it is asked for by its old one."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer for the old names alone."""
        return ModuleSpec(name, self) if name in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the new name in place of an empty one."""
        old = module.__name__
        warn(f"{old} is now {MOVED[old]}: import it from there.", DeprecationWarning, 2)
        sys.modules[old] = import_module(MOVED[old])

"""Loader: a module of the reader's in place of ours, or beside it."""

import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType
from typing import Any

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import StrPath, require_path
from transformer_workbook.own.syllabus import PACKAGE, WRITTEN

OURS = "annotated_transformer"

START = "annotated-transformer start FOLDER"


def file_of(folder: Path, module: str) -> Path:
    """Return the file of a module of the reader's.

    Raises:
        InputError: if the folder is not one that ``start`` wrote.
    """
    if not (folder / PACKAGE).is_dir():
        above = [up for up in folder.resolve().parents if (up / PACKAGE).is_dir()]
        advice = f"it is in {above[0]}, check that one" if above else f"make one with '{START}'"
        raise InputError(f"{folder} has no folder {PACKAGE}: {advice}.")
    return folder / PACKAGE / f"{module}.py"


def stand_in(folder: Path) -> None:
    """Let our modules replace all of the reader's; their additional files can be imported."""
    package = ModuleType(PACKAGE)
    package.__path__ = [str((folder / PACKAGE).resolve())]
    sys.modules[PACKAGE] = package
    for module in WRITTEN:
        _is_now(PACKAGE, module, import_module(f"{OURS}.{module}"))


def alone(folder: StrPath, module: str) -> ModuleType:
    """Load a module of the reader's, with ours in place of all others."""
    folder = require_path("folder", folder)
    file = file_of(folder, module)
    stand_in(folder)
    return run_source(file.read_bytes(), PACKAGE, module, str(file))


def run_source(
    source: str | bytes | CodeType,
    package: str,
    module: str,
    file: str,
    known: Mapping[str, Any] = MappingProxyType({}),
) -> ModuleType:
    """Run a source as the module of that name; it is one until another replaces it.

    ``known`` are the names that it has at the start.
    """
    made = ModuleType(f"{package}.{module}")
    made.__dict__.update(known)
    made.__package__, made.__file__ = package, file
    before = sys.modules.get(made.__name__)
    sys.modules[made.__name__] = made
    try:
        exec(
            source if isinstance(source, CodeType) else compile(source, file, "exec"), made.__dict__
        )
    except BaseException:
        if before is None:
            del sys.modules[made.__name__]
        else:
            sys.modules[made.__name__] = before
        raise
    return made


def take_in(folder: Path, theirs: Collection[str]) -> None:
    """Import our whole package again, with some modules of the reader's in place of ours.

    References to the package from before are to the old modules.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] in (OURS, PACKAGE)]:
        if name != OURS:
            del sys.modules[name]
    place = str((folder / PACKAGE).resolve())
    package = ModuleType(PACKAGE)
    package.__path__ = [place]
    sys.modules[PACKAGE] = package
    sys.modules[OURS].__path__.append(place)  # for additional files that their modules import
    for module in WRITTEN:
        if module in theirs:
            file = file_of(folder, module)
            _is_now(OURS, module, run_source(file.read_bytes(), OURS, module, str(file)))
        _is_now(PACKAGE, module, import_module(f"{OURS}.{module}"))


def _is_now(package: str, module: str, made: ModuleType) -> None:
    sys.modules[f"{package}.{module}"] = made
    setattr(sys.modules[package], module, made)

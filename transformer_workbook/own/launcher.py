"""Launcher: our programs, with the reader's modules in place of ours."""

import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from annotated_transformer.ground.inputs import StrPath, require_path
from transformer_workbook.own.loader import take_in
from transformer_workbook.own.report import check_package


def with_package(folder: StrPath, program: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Run a function of ours with the complete modules of a reader's package; print which.

    The rest is ours. Our whole package is imported again for it, so this is the last thing a
    program does: what was imported before is no longer used.

    Raises:
        InputError: if there is no such package.
        SystemExit: if the reader's code raises another exception; one line says where.
    """
    folder = require_path("folder", folder)
    theirs = check_package(folder)
    print(theirs.used, file=sys.stderr)
    try:
        take_in(folder, theirs.complete)
        return getattr(import_module(program.__module__), program.__name__)(**given)
    except Exception as error:
        if not (place := _place(folder, error)):
            raise
        sys.exit(f"Error: {place}: {type(error).__name__}: {error}")


def _place(folder: Path, error: Exception) -> str:
    """Find the last line of the reader's own code in a traceback, if there is one."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        if file.is_relative_to(folder.resolve()):
            return f"{file.relative_to(folder.resolve())}, line {frame.lineno}"
    return ""

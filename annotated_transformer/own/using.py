"""Using: our programs, with the reader's modules in the place of ours."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from annotated_transformer.own.loading import take_in
from annotated_transformer.own.report import check_package


def with_package(folder: Path, program: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Run a function of ours with those modules of a package that are complete; say which.

    The rest is ours. All of our package is imported anew for it, so this is for a program's end:
    what was imported before is no longer used.

    Raises:
        InputError: if there is no such package.
    """
    theirs = check_package(folder)
    ours = [module for module in theirs.modules if module not in theirs.complete]
    print(f"Yours: {', '.join(theirs.complete) or 'nothing yet'}.", file=sys.stderr)
    if ours:
        print(f"Ours, until yours are right: {', '.join(ours)}.", file=sys.stderr)
    take_in(folder, theirs.complete)
    return getattr(import_module(program.__module__), program.__name__)(**given)

"""The workbook's part of the command line: its commands, and runs with a reader's own package.

This package imports nothing of the workbook. It finds what is installed by entry points: those of
``COMMANDS`` are commands, and that of ``LAUNCHERS`` runs a command with a reader's own package.
"""

from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

import typer

from annotated_transformer.ground.errors import InputError

COMMANDS, LAUNCHERS = "annotated_transformer.commands", "annotated_transformer.launchers"
OF_THE_WORKBOOK = "start", "check", "lessons", "progress"


def add_commands(app: typer.Typer) -> None:
    """Add the commands that are installed."""
    for entry in entry_points(group=COMMANDS):
        app.command(entry.name)(entry.load())


def launcher() -> Callable[..., Any]:
    """Return the function that runs a command with a reader's own package.

    Raises:
        InputError: if the workbook is not installed.
    """
    for entry in entry_points(group=LAUNCHERS):
        return entry.load()
    raise missing("--package")


def missing(name: str) -> InputError:
    """Make the message for something that needs the workbook, which is not available."""
    there = find_spec("transformer_workbook") is not None  # installed before it had commands
    remedy = "is not installed here: pip install"
    if there:
        remedy = "must be installed again: pip install --force-reinstall"
    return InputError(
        f"{name} comes with the package transformer_workbook, which {remedy} annotated-transformer."
    )

"""What the workbook adds to the command line: its commands, and how a package of one's own is used.

This package imports nothing of the workbook. It finds what is installed by entry points: those of
``COMMANDS`` are commands, and that of ``LAUNCHERS`` runs a command with a package of one's own.
"""

from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

import typer

from annotated_transformer.errors import InputError

COMMANDS, LAUNCHERS = "annotated_transformer.commands", "annotated_transformer.launchers"
OF_THE_WORKBOOK = "start", "check"


def add_commands(app: typer.Typer) -> None:
    """Add the commands that are installed."""
    for entry in entry_points(group=COMMANDS):
        app.command(entry.name)(entry.load())


def launcher() -> Callable[..., Any]:
    """What runs a command with a package of one's own.

    Raises:
        InputError: if the workbook is not installed.
    """
    for entry in entry_points(group=LAUNCHERS):
        return entry.load()
    raise missing("--package")


def missing(name: str) -> InputError:
    """What to say if something is asked for that comes with the workbook, which is not there."""
    there = find_spec("transformer_workbook") is not None  # but installed before it had commands
    state, remedy = (
        ("has to be installed again", "--force-reinstall ")
        if there
        else ("is not installed here", "")
    )
    return InputError(
        f"{name} comes with the package transformer_workbook, which {state}: "
        f"pip install {remedy}annotated-transformer."
    )

"""The command line: train, resume, recipes, translate, evaluate, export, import.

The workbook adds start and check.
"""

import os
import signal
import sys
from io import TextIOWrapper
from pathlib import Path

import typer

from annotated_transformer.cli import formats, outputs, presets, runs
from annotated_transformer.cli.options import app, one_sentence, require_text
from annotated_transformer.cli.workbook import add_commands
from annotated_transformer.ground.sentences import LANGUAGE_VARIABLE, language_of_the_locale

__all__ = ["app", "formats", "main", "outputs", "presets", "runs"]

add_commands(app)


def main() -> None:
    """Run the command line with its arguments, whichever of the three streams are open."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed: reading gives nothing, output is dropped
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115
    # Input and output are UTF-8, whatever the locale.
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # what was begun is ended in order
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    os.environ.setdefault(LANGUAGE_VARIABLE, language_of_the_locale())
    try:
        with one_sentence():
            require_text(*sys.argv[1:])
            app()
    except typer.Exit as refused:
        sys.exit(refused.exit_code)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program ends by itself now

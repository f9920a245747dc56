"""The page of the command line: what a command takes, from the program itself, and an example."""

import re
from pathlib import Path

from docutils import nodes
from sources_page import Cell, table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer import Context
from typer.main import get_command

from annotated_transformer import cli
from transformer_workbook import commands

COLUMNS = {"it takes": 32, "which means": 68}


class CommandDirective(SphinxDirective):
    """One command: what it does, its example, which a test runs, and what it takes."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a sentence, a block of code and a table."""
        for module in (*Path(cli.__file__).parent.glob("*.py"), Path(commands.__file__)):
            self.env.note_dependency(str(module))
        command = get_command(cli.app).commands[self.arguments[0]]
        example = "\n".join(self.content)
        records = [each.get_help_record(Context(command)) for each in command.params]
        rows: list[list[Cell]] = [
            [[nodes.literal("", shown)], with_options(meaning)] for shown, meaning in records
        ]
        return [
            *(nodes.paragraph("", said) for said in command.help.split("\n\n")),
            nodes.literal_block(example, example, language="bash"),
            table(COLUMNS, rows, "commands"),
        ]


def with_options(meaning: str) -> Cell:
    """Return a sentence in which options are code: in prose two hyphens become a dash."""
    parts = re.split(r"(--[a-z-]+)", " ".join(meaning.split()))
    return [
        nodes.literal("", part) if at % 2 else nodes.Text(part) for at, part in enumerate(parts)
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("command", CommandDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The command line: train, resume, recipes, translate, evaluate, export."""

from annotated_transformer.cli import making, using
from annotated_transformer.cli.options import app

__all__ = ["app", "main", "making", "using"]


def main() -> None:
    """Run the command line."""
    app()

"""The command that lists the recipes: recipes."""

import json
from typing import Annotated

import typer

from annotated_transformer.cli.options import app, one_sentence
from annotated_transformer.models import MODELS
from annotated_transformer.run import MEANINGS, preset


@app.command()
def recipes(
    name: Annotated[str | None, typer.Argument(help="Print this recipe as JSON.")] = None,
    model: Annotated[str, typer.Option(help=f"For one of {', '.join(MODELS)}.")] = "transformer",
) -> None:
    """List the recipes, or print one as JSON, to be edited and used with 'train --recipe'."""
    with one_sentence():
        if name is None:
            for each, meaning in MEANINGS.items():
                typer.echo(f"{each:8} {meaning}")
        else:
            settings = preset(model, "toy" if name == "tiny" else "multi30k", name).to_settings()
            typer.echo(json.dumps(settings, indent=2))

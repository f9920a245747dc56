"""The command that lists the recipes: recipes."""

import json
from typing import Annotated

import typer

from annotated_transformer.cli.options import app, one_sentence
from annotated_transformer.corpora import CORPORA
from annotated_transformer.ground.sentences import spoken
from annotated_transformer.models import MODELS
from annotated_transformer.run import PRESETS, preset


@app.command()
def recipes(
    name: Annotated[str | None, typer.Argument(help="Print this recipe as JSON.")] = None,
    model: Annotated[str, typer.Option(help=f"For one of {', '.join(MODELS)}.")] = "transformer",
) -> None:
    """List the recipes, or print one as JSON, to be edited and used with 'train --recipe'."""
    with one_sentence():
        if name is None:
            for each, known in PRESETS.items():
                typer.echo(f"{each:8} {spoken(known.meaning)}")
        else:
            corpus = next((key for key, each in CORPORA.items() if each.recipe == name), "multi30k")
            typer.echo(json.dumps(preset(model, corpus, name).to_settings(), indent=2))

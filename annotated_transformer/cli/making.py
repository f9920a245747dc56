"""The commands that train: train, resume, recipes."""

import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from annotated_transformer.cli.options import (
    CorpusOption,
    DeviceOption,
    LanguagesOption,
    RunArgument,
    app,
    one_sentence,
    require_text,
)
from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.devices import choose_device
from annotated_transformer.errors import InputError
from annotated_transformer.files import FolderTakenError
from annotated_transformer.models import MODELS
from annotated_transformer.run import (
    MEANINGS,
    PRESETS,
    Recipe,
    Run,
    preset,
    recipe_of,
)
from annotated_transformer.run import train as train_run


@app.command()
def train(
    model: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(MODELS)}; transformer if not given.")
    ] = None,
    corpus: CorpusOption = None,
    languages: LanguagesOption = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help=f"{', '.join(PRESETS)} (see 'recipes'), or a JSON file of settings; tiny for the "
            "toy corpus, else medium, if not given.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the recipe, of its model or of its search, for example "
            "d_model=128 or search.beam=5. May be repeated.",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="How many steps, instead of the recipe's; its warm-up is cut to a quarter of them."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Decides the first weights and the order; the recipe's, 0.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="float32 or bfloat16: in how many bits to multiply.")
    ] = None,
    device: DeviceOption = "auto",
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse training pairs that are too long.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="A new folder for the run; runs/MODEL-CORPUS-NUMBER if not given."),
    ] = None,
) -> None:
    """Train a model. Ctrl-C saves; 'resume' goes on from there.

    The run keeps its last weights, to go on with, and those of the best validation: they translate.
    """
    with one_sentence():
        require_text(corpus, languages, recipe, out, *(settings or ()))
        given: dict[str, Any] = {"seed": seed, "languages": languages, "precision": precision}
        changes = {name: value for name, value in given.items() if value is not None}
        changes |= dict(map(parsed, settings or ()))
        model, corpus = changes.pop("model", model), changes.pop("corpus", corpus)
        made = recipe_of(recipe, model, corpus)
        if steps is not None:
            shorter = min(made.warmup, max(steps, 0) // 4)
            changes = {"warmup": shorter} | changes | {"steps": steps}
        made = made.changed(changes)
        data = load_corpus(made.corpus, made.languages)
        made = replace(made, corpus=data.name)
        where = choose_device(device)
        report(begin(out, made, data, strict=strict, device=where), data)


def parsed(setting: str) -> tuple[str, Any]:
    """The name and the value in KEY=VALUE; the value is JSON, or else a text.

    Raises:
        InputError: if there is no "=" in it.
    """
    name, equals, text = setting.partition("=")
    if not equals:
        raise InputError(f"--set is {setting!r}, it must be KEY=VALUE.")
    try:
        return name, json.loads(text)
    except (ValueError, RecursionError):
        return name, text


def begin(out: Path | None, recipe: Recipe, corpus: Corpus, **options: Any) -> Run:
    """Begin a run in the folder given, or in the first of runs/name-1, runs/name-2, … that is free.

    Raises:
        InputError: if it cannot be begun.
    """
    if out is not None:
        return Run.create(out, recipe, corpus, **options)
    for number in count(1):
        folder = Path("runs", f"{recipe.model}-{Path(corpus.name).stem}-{number}")
        if not folder.exists():
            try:
                return Run.create(folder, recipe, corpus, **options)
            except FolderTakenError:  # another process was quicker
                continue
    raise AssertionError("there are numbers enough")


@app.command()
def resume(
    run: RunArgument,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Train up to this step instead of the recipe's; a linear decay of the rate is "
            "stretched to it.",
        ),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(help="Where the corpus is now, if it was moved.")
    ] = None,
    device: DeviceOption = "auto",
) -> None:
    """Go on with a run that was interrupted, or that should be trained longer."""
    with one_sentence():
        opened = Run.open(run, choose_device(device))
        opened.require_trainable()
        changes: dict[str, Any] = {} if steps is None else {"steps": steps}
        data = load_corpus(corpus or opened.recipe.corpus, opened.recipe.languages)
        if corpus is not None:
            opened.require_corpus(data)
            changes["corpus"] = data.name
        if changes:
            opened = opened.with_recipe(replace(opened.recipe, **changes))
        report(opened, data)


def report(run: Run, corpus: Corpus) -> None:
    """Train a run to its end and say what to do next."""
    stopped = train_run(run, corpus)
    if stopped is None:
        typer.echo(f'Trained. Try: annotated-transformer translate {run.folder} "…"')
    else:
        typer.echo(f"Saved. Go on with: annotated-transformer resume {run.folder}")
        raise typer.Exit(128 + stopped)


@app.command()
def recipes(
    name: Annotated[str | None, typer.Argument(help="Print this one as JSON.")] = None,
    model: Annotated[str, typer.Option(help=f"For one of {', '.join(MODELS)}.")] = "transformer",
) -> None:
    """List the recipes, or print one as JSON: a file to change and to give to 'train --recipe'."""
    with one_sentence():
        if name is None:
            for each, meaning in MEANINGS.items():
                typer.echo(f"{each:8} {meaning}")
        else:
            settings = preset(model, "toy" if name == "tiny" else "multi30k", name).to_settings()
            typer.echo(json.dumps(settings, indent=2))

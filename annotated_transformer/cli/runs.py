"""The runs: train begins one, resume goes on with it."""

from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from annotated_transformer.cli.options import (
    CorpusOption,
    DeviceOption,
    ForceOption,
    LanguagesOption,
    PackageOption,
    RunArgument,
    app,
    one_sentence,
    parsed,
    proposed,
    read_corpus,
    require_direction,
    require_text,
    say,
    takes_package,
    tell_overlap,
)
from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.ground.devices import choose_device
from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.models import MODELS
from annotated_transformer.run import (
    PRESETS,
    Processes,
    Recipe,
    Run,
    joined,
    recipe_of,
)
from annotated_transformer.run import train as train_run
from annotated_transformer.run.files import FolderTakenError, quoted
from annotated_transformer.run.screen import tell


@app.command()
@takes_package()
def train(
    model: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(MODELS)}; transformer if not given.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Start from the weights, sizes and vocabulary of this run, trained or imported.",
        ),
    ] = None,
    corpus: CorpusOption = None,
    languages: LanguagesOption = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help=f"{', '.join(PRESETS)} (see 'recipes'), or a JSON file of settings; if not given, "
            "finetune with --from, tiny for the toy corpus, else medium.",
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
            help="Number of steps; replaces the recipe's, and warm-up is at most a quarter of it."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the initial weights and the order; default 0.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="Precision of matrix products: float32 or bfloat16.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(help="readable or fast: the same steps in less time, for a transformer."),
    ] = None,
    device: DeviceOption = "auto",
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse training pairs that are too long.")
    ] = False,
    force: ForceOption = False,
    out: Annotated[
        Path | None,
        typer.Option(help="A new folder for the run; runs/MODEL-CORPUS-NUMBER if not given."),
    ] = None,
    package: PackageOption = None,
) -> None:
    """Train a model. Ctrl-C saves; 'resume' continues from there.

    The run keeps its last weights, to resume, and those of the best validation, to translate.
    """
    with one_sentence(), joined(device) as processes:
        require_text(start, corpus, languages, recipe, out, *(settings or ()))
        given: dict[str, Any] = {
            "model": model, "corpus": corpus, "languages": languages, "steps": steps, "seed": seed,
            "precision": precision, "engine": engine,
        }  # fmt: skip
        changes = {name: value for name, value in given.items() if value is not None}
        for name, value in map(parsed, settings or ()):
            if (other := changes.setdefault(name, value)) != value:
                raise InputError(f"{name} is given as {other!r} and as {value!r}: give one value.")
        model, corpus = changes.pop("model", None), changes.pop("corpus", None)
        if model is not None:
            require_choice("model", model, MODELS)  # JSON may contain anything
        first = None if start is None else Run.open(start)
        if first is not None:
            recipe, model = recipe or "finetune", model or first.recipe.model
            if corpus is None and recipe in PRESETS:
                corpus = first.recipe.corpus
        elif recipe == "finetune":
            raise InputError(
                "recipe is 'finetune', it needs a trained model: give one with --from RUN."
            )
        made = recipe_of(recipe, model, corpus)
        if steps is not None:
            shorter = min(made.warmup, max(steps, 0) // 4)
            changes = {"warmup": shorter} | changes
        made = made.changed(changes)
        made = made if first is None else made.for_model_of(first.recipe)
        processes.require_engine(made.engine)
        processes.share_of(made.accumulate)  # checked before a folder is made
        data = load_corpus(made.corpus, made.languages)
        if first is not None:
            require_direction(first, data, made.languages)
        require_text(data.name)  # a path may contain more than the argument
        made = replace(made, corpus=data.name)
        where = choose_device(device)
        options = {"start": first, "strict": strict, "force": force, "device": where}
        begun = cache(lambda: begin(out, made, data, **options))
        folder = processes.first(lambda: begun().folder)
        if processes.is_main:
            tell_overlap(data, *sorted(data.splits.keys() - {"train"}))
        report(begun() if processes.is_main else Run.open(folder, where), data, processes)


def begin(out: Path | None, recipe: Recipe, corpus: Corpus, **options: Any) -> Run:
    """Start a run in the given folder, or in the first free one of runs/name-1, runs/name-2, …

    Raises:
        InputError: if it cannot be started.
    """
    if out is not None:
        return Run.create(out, recipe, corpus, **options)
    for number in count(1):
        folder = Path("runs", f"{recipe.model}-{Path(corpus.name).stem}-{number}")
        if not folder.exists():
            try:
                return Run.create(folder, recipe, corpus, **options)
            except FolderTakenError:  # another process took it first
                continue
    raise AssertionError("count() is endless")


@app.command()
@takes_package()
def resume(
    run: RunArgument,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Train up to this step instead of the recipe's; a linear decay of the learning "
            "rate is stretched to it.",
        ),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(help="Where the corpus is now, if it was moved.")
    ] = None,
    device: DeviceOption = "auto",
    package: PackageOption = None,
) -> None:
    """Resume a run that was interrupted, or train it longer."""
    with one_sentence(), joined(device) as processes:
        opened = Run.open(run, choose_device(device))
        opened.require_trainable()
        changes: dict[str, Any] = {} if steps is None else {"steps": steps}
        data = read_corpus(opened, corpus)
        if corpus is not None:
            opened.require_corpus(data)
            changes["corpus"] = data.name
        # Written into its folder by `train_run`, after all checks.
        opened = replace(opened, recipe=replace(opened.recipe, **changes))
        report(opened, data, processes)


def report(run: Run, corpus: Corpus, processes: Processes) -> None:
    """Train a run to its end and print what to do next."""
    if processes.is_main:
        languages, steps = "-".join(corpus.languages), run.recipe.steps
        tell(f"{corpus.name} train: {languages}, up to step {steps:,}")
    stopped = train_run(run, corpus, processes)
    saved = f"Saved. Resume with: {processes.command} resume {quoted(run.folder)}"
    if processes.is_main:
        say(f"Trained. {proposed(run)}" if stopped is None else saved)
    if stopped is not None:
        raise typer.Exit(128 + stopped)

"""The formats of other programs: export, import."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from annotated_transformer.cli.options import RunArgument, app, one_sentence, proposed, say
from annotated_transformer.exchange import (
    export_to_ctranslate2,
    export_to_marian,
    export_to_web,
    import_marian,
)
from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.ground.sentences import spoken
from annotated_transformer.run import Run
from annotated_transformer.run.files import quoted

HALF = "float16"
EXPORTS: dict[str, tuple[Callable[[Run, Path], object], str]] = {
    "run": (Run.export, "{proposed}"),
    "web": (export_to_web, "Open {folder} in the laboratory."),
    "ctranslate2": (export_to_ctranslate2, "{folder}/README.md says how to translate with it."),
    "marian": (export_to_marian, "{folder}/README.md says how to translate with it."),
}
"""The formats of an export: the function that writes it, and what to do then."""


@app.command()
def export(
    run: RunArgument,
    folder: Annotated[Path, typer.Argument(help="A new folder for the model.")],
    to: Annotated[
        str,
        typer.Option(
            help="run, to translate with, in half the bits; web, two files that the book's "
            "laboratory opens; ctranslate2, for the engine of that name; or marian, for "
            "transformers.MarianMTModel of Hugging Face."
        ),
    ] = "run",
    precision: Annotated[
        str,
        typer.Option(
            help="The precision of the weights, --to web: float16, or int8, half the size, with a "
            "scale for each row of a matrix."
        ),
    ] = HALF,
) -> None:
    """Write the files that are needed to translate into a new folder."""
    with one_sentence():
        require_choice("to", to, EXPORTS)
        write, then = EXPORTS[to]
        if precision != HALF:
            if to != "web":
                raise InputError(f"precision is {precision!r}, without --to web it must be {HALF}.")
            write = partial(export_to_web, precision=precision)
        opened = Run.open(run)
        write(opened, folder)
        sizes = opened.weights.stat().st_size, sum(p.stat().st_size for p in folder.iterdir())
        before, after = (f"{size / 1e6:.1f} MB" for size in sizes)
        use = spoken(proposed(replace(opened, folder=folder)))
        told = then.format(folder=quoted(folder), proposed=use)
        say(f"Exported, {before} of weights as {after}. {told}")


@app.command("import")
def take(
    source: Annotated[
        Path,
        typer.Argument(
            help="A model in the layout in which Hugging Face publishes OPUS-MT: config.json, its "
            "weights, source.spm, target.spm, vocab.json."
        ),
    ],
    folder: Annotated[Path, typer.Argument(help="A new folder for the run.")],
    languages: Annotated[
        str | None,
        typer.Option(help="Source and target as SRC-TGT; those in the model's name, if not given."),
    ] = None,
) -> None:
    """Make a run from a published translation model, to translate with."""
    with one_sentence():
        run = import_marian(source, folder, languages)
        pair = run.recipe.languages
        say(f"Imported{f', {pair}' if pair else ''}. {proposed(run)}")

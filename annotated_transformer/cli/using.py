"""The commands that use a trained model: translate, evaluate, export."""

import sys
from codecs import BOM_UTF8
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from annotated_transformer.cli.options import (
    AlphaOption,
    BeamOption,
    DeviceOption,
    PrecisionOption,
    RunArgument,
    app,
    one_sentence,
    require_text,
)
from annotated_transformer.corpora import load_corpus
from annotated_transformer.devices import choose_device, computing_in
from annotated_transformer.errors import InputError, require_choice
from annotated_transformer.run import Run, export_to_web
from annotated_transformer.search import Search
from annotated_transformer.translation import translations


@app.command()
def translate(
    run: RunArgument,
    text: Annotated[
        str | None, typer.Argument(help="What to translate; standard input, line by line, if none.")
    ] = None,
    beam: BeamOption = None,
    alpha: AlphaOption = None,
    best: Annotated[
        int | None, typer.Option(help="How many translations of each line, one a line.")
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw at random, with a beam of 1.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(help="Of samples: above 1 for more surprising ones.")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="Sample among so many likeliest tokens.")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(help="Sample among the likeliest that have this probability."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same samples.")] = None,
    prefix: Annotated[
        str | None, typer.Option(help="What every translation has to begin with.")
    ] = None,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "float32",
) -> None:
    """Translate a text, or all lines of standard input, with the weights of the best validation."""
    with one_sentence():
        require_text(run, text, prefix)
        opened = Run.open(run, choose_device(device))
        if sample:
            beam = beam or 1
        search = searching(
            opened.recipe.search, beam=beam, alpha=alpha, best=best, sample=sample or None,
            temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
        )  # fmt: skip
        lines = [text] if text is not None else standard_input()
        prefixes = None if prefix is None else [prefix] * len(lines)
        with computing_in(precision, opened.device):
            found = translations(opened.model, lines, opened.vocabularies, search, prefixes)
        for translation in (translation for each in found for translation in each):
            typer.echo(translation)


def searching(search: Search, **changes: Any) -> Search:
    """A search with other settings, where they are given.

    Raises:
        InputError: if there is no such search.
    """
    return replace(search, **{name: value for name, value in changes.items() if value is not None})


def standard_input() -> list[str]:
    """The lines of standard input.

    Raises:
        InputError: if they are not UTF-8.
    """
    try:
        text = sys.stdin.buffer.read().removeprefix(BOM_UTF8).decode("utf-8")
        return [line.strip() for line in text.removesuffix("\n").split("\n")] if text else []
    except UnicodeDecodeError as error:
        raise InputError(f"standard input is not UTF-8 text ({error}).") from error


@app.command()
def evaluate(
    run: RunArgument,
    corpus: Annotated[
        str | None, typer.Option(help="The corpus; the one trained on if not given.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="The split; the corpus's first test split if not given.")
    ] = None,
    beam: BeamOption = None,
    alpha: AlphaOption = None,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "float32",
) -> None:
    """Score the translations of a split by the weights of the best validation."""
    with one_sentence():
        opened = Run.open(run, choose_device(device))
        search = searching(opened.recipe.search, beam=beam, alpha=alpha)
        data = load_corpus(corpus or opened.recipe.corpus, opened.recipe.languages)
        name = split or data.test_split
        with computing_in(precision, opened.device):
            scores = opened.evaluate(data, name, search)
        number = len(data.sides(name)[0])
        searched = f"beam {search.beam}, alpha {search.alpha}"
        typer.echo(f"{data.name} {name}: {number} sentences, {searched}")
        for score in scores:
            typer.echo(str(score))


EXPORTS = ("run", "web")
"""What a run can be exported as: a smaller run, or files for the laboratory."""


@app.command()
def export(
    run: RunArgument,
    folder: Annotated[Path, typer.Argument(help="A new folder for the model.")],
    to: Annotated[
        str,
        typer.Option(
            help="run, to translate with; or web, two files that the book's laboratory opens."
        ),
    ] = "run",
) -> None:
    """Write what it takes to translate into a folder of its own, with half the bits."""
    with one_sentence():
        require_choice("to", to, EXPORTS)
        opened = Run.open(run)
        if to == "web":
            export_to_web(opened, folder)
            typer.echo(f"Exported. Open {folder} in the laboratory.")
        else:
            exported = opened.export(folder)
            typer.echo(f'Exported. Try: annotated-transformer translate {exported.folder} "…"')

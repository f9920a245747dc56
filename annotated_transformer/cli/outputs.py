"""The outputs of a trained model: translate, generate, evaluate."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from annotated_transformer.cli.options import (
    SEARCH_OPTIONS,
    DeviceOption,
    ForceOption,
    LanguagesOption,
    PackageOption,
    PrecisionOption,
    RunArgument,
    app,
    one_sentence,
    read_corpus,
    require_direction,
    require_text,
    say,
    takes_package,
    takes_search,
    tell_overlap,
)
from annotated_transformer.ground.devices import choose_device, computing_in
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.sentences import spoken
from annotated_transformer.run import Line, LineTranslator, Run, lines_of
from annotated_transformer.run.lines import damage_of
from annotated_transformer.run.screen import SCREEN, tell
from annotated_transformer.run.sentences import text_of
from annotated_transformer.translation import MOST

LONGEST_NAME = 256
"""Bytes: a longer text is not a file name."""


def for_package(given: dict[str, Any]) -> dict[str, Any]:
    """Translate with a package of the reader's own in one process, by its readable modules.

    Raises:
        InputError: if several processes are asked for.
    """
    if (given["workers"] or 1) > 1:
        raise InputError(f"workers is {given['workers']}, it must be 1 with --package.")
    return given | {"workers": 1, "engine": given["engine"] or "readable"}


@app.command()
@takes_package(for_package)
@takes_search(*SEARCH_OPTIONS)
def translate(
    run: RunArgument,
    text: Annotated[
        str | None,
        typer.Argument(help="The text; default: all lines of standard input."),
    ] = None,
    asked: Any = None,
    prefix: Annotated[str | None, typer.Option(help="The beginning of every translation.")] = None,
    split_sentences: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE",
            help="Split each line into sentences by the rules of a language (en, de, ko, …), and "
            "join their translations.",
        ),
    ] = None,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "float32",
    engine: Annotated[
        str | None,
        typer.Option(
            help="readable or fast: the same in less time, for a transformer; default: the "
            "recipe's, readable with --package."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            help="Number of processes that translate standard input. Default: 2 on a CPU for "
            "4,000 lines or more; that many are read before the first is translated.",
        ),
    ] = None,
    package: PackageOption = None,
) -> None:
    """Translate a text, or all lines of standard input, with the weights of the best validation.

    A line is translated as one sentence: of several on a line, a model that was trained on single
    sentences loses some, and --split-sentences splits them first.
    A line that cannot be translated does not affect the others: its translation is empty, and a
    sentence on standard error says why. A text of any length is translated while it is read, a
    thousand lines at a time, in order.
    """
    with one_sentence():
        require_text(run, text, prefix, split_sentences)
        opened = Run.open(run, choose_device(device))
        if engine is not None:
            opened = replace(opened, recipe=opened.recipe.changed({"engine": engine}))
        alone = {"beam": 1} if "sample" in asked else {}
        search = replace(opened.recipe.search, **alone | asked)
        translator = LineTranslator(opened, search, prefix, precision, split_sentences)
        if text is None:
            if is_closed():
                raise InputError("standard input is closed: give a text, or a file with <.")
            translate_stream(translator, lines_of(sys.stdin.buffer.readline), workers)
            return
        text = one_line("text", text)
        if len(text.encode()) < LONGEST_NAME and Path(text).is_file():
            tell(f"{text} is a file; its name was translated, not its lines.")
        [line] = translator([text.encode()])
        if line.fault:
            raise InputError(f"the text {line.fault}.")
        for remark in remarks(line):
            tell(remark[0].upper() + remark[1:])
        for translation in line.translations:
            typer.echo(translation)


def is_closed() -> bool:
    """Tell whether standard input was closed when the program began: `main` has replaced it."""
    return getattr(sys.stdin, "name", None) == os.devnull


def one_line(name: str, text: str) -> str:
    """Return a text without white space around it.

    Raises:
        InputError: if it has several lines.
    """
    if "\n" in text.strip():
        raise InputError(
            f"the {name} has {len(text.strip().splitlines())} lines, it must be one sentence: "
            "several come from standard input, one a line."
        )
    return text.strip() or text


def remarks(line: Line) -> list[str]:
    """Say what is unknown in a line, and in its translations."""
    told = []
    if line.unknown:
        told.append(spoken(f"unknown to the vocabulary: {listed(line.unknown)}."))
    if any(text and not re.sub(r"<unk>|⁇|\s", "", text) for text in line.translations):
        told.append(spoken("the translation is only <unk>, the token of unknown words."))
    return told


def translate_stream(
    translator: LineTranslator, lines: Iterator[bytes], workers: int | None
) -> None:
    """Translate line by line; report on standard error what is wrong with a line."""
    # On a terminal alone, and not among the translations.
    hidden, number = True if sys.stdout.isatty() else None, 0
    with tqdm(unit=spoken(" lines"), disable=hidden, dynamic_ncols=True, file=SCREEN) as bar:
        for number, line in enumerate(translator.translate(lines, workers), 1):
            for remark in remarks(line):
                tell(f"Line {number}: {remark}")
            if line.fault:
                tell(f"Line {number} {line.fault}; its translation is empty.")
            for translation in line.translations:
                typer.echo(translation)
            bar.update()
    if not number:
        tell("Standard input is empty: there was nothing to translate.")


def listed(words: Sequence[str]) -> str:
    """Join words for a message; of many, only the first."""
    return ", ".join(map(repr, words[:MOST])) + (", …" if len(words) > MOST else "")


@app.command()
@takes_package()
@takes_search(*SEARCH_OPTIONS)
def generate(
    run: RunArgument,
    prompt: Annotated[
        str | None,
        typer.Argument(
            help="The beginning of the text; it may be empty. Default: each line of standard input."
        ),
    ] = None,
    length: Annotated[
        int, typer.Option(min=1, max=10_000, help="Most tokens that are added to the prompt.")
    ] = 50,
    asked: Any = None,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "float32",
    package: PackageOption = None,
) -> None:
    """Continue a text with a language model, by the weights of the best validation.

    Without a prompt, each line of a file or a pipe is one; where there is none, one text is written
    from nothing. A line that cannot be continued does not affect the others, as in 'translate'.
    The beam is 1 if none is given.
    """
    with one_sentence():
        require_text(run, prompt)
        opened = Run.open(run, choose_device(device))
        search = replace(opened.recipe.search, **{"beam": 1} | asked)
        with computing_in(precision, opened.device):
            if prompt is not None or is_closed() or sys.stdin.isatty():
                for text in opened.continue_text(one_line("prompt", prompt or ""), search, length):
                    typer.echo(text)
                return
            lines = lines_of(sys.stdin.buffer.readline)
            for number, line in enumerate(chain([next(lines, b"")], lines), 1):
                texts = [""] * search.best
                try:
                    if damage := damage_of(line):
                        raise InputError(f"it {damage}.")
                    texts = opened.continue_text(text_of(line) or "", search, length)
                except InputError as error:
                    tell(f"Line {number}: {error} Its text is empty.")
                for text in texts:
                    typer.echo(text)


@app.command()
@takes_package()
@takes_search("beam", "alpha")
def evaluate(
    run: RunArgument,
    corpus: Annotated[
        str | None, typer.Option(help="The corpus; default: the one of the training.")
    ] = None,
    languages: LanguagesOption = None,
    split: Annotated[
        str | None, typer.Option(help="The split; default: the corpus's first test split.")
    ] = None,
    force: ForceOption = False,
    asked: Any = None,
    device: DeviceOption = "auto",
    precision: PrecisionOption = "float32",
    package: PackageOption = None,
) -> None:
    """Score the translations of a split by the weights of the best validation.

    Of a language model of text alone it is the perplexity.
    """
    with one_sentence():
        opened = Run.open(run, choose_device(device))
        search = replace(opened.recipe.search, **asked)
        data = read_corpus(opened, corpus, languages)
        require_direction(opened, data, languages)
        require_text(data.name)  # a path may contain more than the argument
        name = data.test_split if split is None else split
        if name != "train" and "train" in data.splits:
            tell_overlap(data, name)
        with computing_in(precision, opened.device):
            scores = opened.evaluate(data, name, search, force)
        number = len(data.sides(name)[0])
        searched = f", beam {search.beam}, alpha {search.alpha}"
        if search.sample:
            searched = f", samples at temperature {search.temperature}, seed {search.seed}"
        if len(data.languages) == 1:  # a text alone is read, nothing is searched for
            searched = ""
        say(f"{data.name} {name}: {number} sentences, {'-'.join(data.languages)}{searched}")
        for score in scores:
            name, signature = spoken(score.name), spoken(score.signature)
            typer.echo(str(replace(score, name=name, signature=signature)))

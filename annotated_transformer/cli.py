"""The command line: train, resume, translate, evaluate."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from annotated_transformer.alignment import alignment_errors
from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import Score, perplexity, score_translations
from annotated_transformer.recipes import MODELS, preset
from annotated_transformer.runs import Run
from annotated_transformer.training_runs import train as train_run

app = typer.Typer(
    help="Train translation models from RNN to Transformer, and use them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

CorpusOption = Annotated[
    str,
    typer.Option(
        help="toy (embedded English–Korean), multi30k (German–English, downloaded once), a folder "
        "with train.SRC, train.TGT, val.SRC, … (plain or .gz), or a two-column TSV file."
    ),
]
LanguagesOption = Annotated[
    str | None, typer.Option(help="Source and target as SRC-TGT, for example de-en.")
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a training run.")]
BeamOption = Annotated[
    int | None,
    typer.Option(min=1, help="Width of the beam, 1 is greedy search; the recipe's if not given."),
]
AlphaOption = Annotated[
    float | None, typer.Option(help="Exponent of the length penalty; the recipe's if not given.")
]


@contextmanager
def one_sentence() -> Iterator[None]:
    """Show an error of the input, or of a file, as one sentence, and exit with code 2."""
    try:
        yield
    except BrokenPipeError:
        raise  # whoever read our output has seen enough: that is no error
    except (InputError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error


@app.command()
def train(
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "transformer",
    corpus: CorpusOption = "toy",
    languages: LanguagesOption = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="How many steps; the preset decides if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides the first weights and the order.")] = 0,
    bfloat16: Annotated[
        bool, typer.Option("--bfloat16", help="Multiply in 16 bits: faster on some processors.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="A new folder for the run; runs/MODEL-CORPUS-NUMBER if not given."),
    ] = None,
) -> None:
    """Train a model. Ctrl-C saves; 'resume' goes on from there."""
    with one_sentence():
        recipe = preset(model, corpus, languages=languages, seed=seed, bfloat16=bfloat16)
        if steps is not None:
            recipe = replace(recipe, steps=steps, warmup=min(recipe.warmup, steps // 4))
        data = load_corpus(corpus, languages)
        folder = out or free_folder(f"{model}-{Path(data.name).stem}")
        report(Run.create(folder, replace(recipe, corpus=data.name), data), data)


def free_folder(name: str) -> Path:
    """The first of runs/name-1, runs/name-2, … that does not exist."""
    return next(path for i in count(1) if not (path := Path("runs", f"{name}-{i}")).exists())


@app.command()
def resume(
    run: RunArgument,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Train up to this step instead of the recipe's; a linear decay of the rate is "
            "stretched to it.",
        ),
    ] = None,
) -> None:
    """Go on with a run that was interrupted, or that should be trained longer."""
    with one_sentence():
        opened = Run.open(run)
        if steps is not None:
            opened = opened.prolonged(steps)
        report(opened, load_corpus(opened.recipe.corpus, opened.recipe.languages))


@app.command()
def export(
    run: RunArgument,
    folder: Annotated[Path, typer.Argument(help="A new folder for the model.")],
) -> None:
    """Write what it takes to translate into a folder of its own, with half the bits."""
    with one_sentence():
        exported = Run.open(run).export(folder)
        typer.echo(f'Exported. Try: annotated-transformer translate {exported.folder} "…"')


def report(run: Run, corpus: Corpus) -> None:
    """Train a run to its end and say what to do next."""
    if train_run(run, corpus):
        typer.echo(f'Trained. Try: annotated-transformer translate {run.folder} "…"')
    else:
        typer.echo(f"Saved. Go on with: annotated-transformer resume {run.folder}")
        raise typer.Exit(130)


@app.command()
def translate(
    run: RunArgument,
    text: Annotated[
        str | None, typer.Argument(help="What to translate; standard input, line by line, if none.")
    ] = None,
    beam: BeamOption = None,
    alpha: AlphaOption = None,
) -> None:
    """Translate a text, or every line of standard input."""
    with one_sentence():
        opened = Run.open(run).searching(beam, alpha)
        lines = [text] if text is not None else standard_input()
        for translation in opened.translate(lines):
            typer.echo(translation)


def standard_input() -> list[str]:
    """The lines of standard input.

    Raises:
        InputError: if they are not UTF-8.
    """
    try:
        return [line.decode("utf-8").strip() for line in sys.stdin.buffer]
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
) -> None:
    """Score a model's translations of a split, with sacreBLEU's signatures."""
    with one_sentence():
        opened = Run.open(run).searching(beam, alpha)
        model = opened.model()
        data = load_corpus(corpus or opened.recipe.corpus, opened.recipe.languages)
        pairs = data.split(split or data.test_split)
        sources, references = (list(side) for side in zip(*pairs, strict=True))
        translations = opened.translate(sources)
        searched = f"beam {opened.recipe.beam}, alpha {opened.recipe.alpha}"
        typer.echo(f"{data.name} {split or data.test_split}: {len(pairs)} sentences, {searched}")
        value = perplexity(model, opened.encode(pairs))
        scores = score_translations(translations, references)
        scores.append(Score("perplexity", value, "teacher-forced, per target token"))
        if gold := data.alignments.get(split or data.test_split):
            errors = alignment_errors(model, opened.encode(pairs), gold)
            scores += [
                Score("AER", error, f"{name}, mean of heads") for name, error in errors.items()
            ]
        for score in scores:
            typer.echo(str(score))


def main() -> None:
    """Run the command line."""
    app()

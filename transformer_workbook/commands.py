"""The commands of the workbook: lessons to do, progress; a package of one's own: start, check.

The command line finds them by their entry points at every start of the program, so they import
what they need only when they run.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from annotated_transformer.ground.sentences import ENGLISH, LANGUAGE_VARIABLE


def start(
    folder: Annotated[Path, typer.Argument(help="A new folder for your package.")],
) -> None:
    """Write a package of your own: the modules of the course with empty functions."""
    from annotated_transformer.cli.options import one_sentence, require_text, say
    from transformer_workbook.own import start as start_package

    with one_sentence():
        require_text(folder)
        start_package(folder)
        say(f"Written. Begin with {folder / 'README.md'}.")


def check(
    folder: Annotated[Path, typer.Argument(help="The folder of your package.")],
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[CHAPTER|MODULE]", help="For example 06, or masking; default: all."
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Print the check behind a finding about a function or class, as a program.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Check your package: what is correct, and which mistake is made elsewhere.

    The exit code is 0 if everything is correct, 1 if something is wrong or missing. The variable
    ANNOTATED_TRANSFORMER_LANGUAGE chooses the language of the report: ko is Korean.
    """
    from annotated_transformer.cli.options import one_sentence, require_text
    from transformer_workbook.own import check_package, question

    with one_sentence():
        require_text(folder, what, show)
        if show is not None:
            typer.echo(question(folder, show, what))
            return
        report = check_package(folder, what)
        typer.echo(json.dumps(report.as_json(), indent=2) if as_json else str(report))
        if not report.right:
            raise typer.Exit(1)


def lessons(
    folder: Annotated[Path, typer.Argument(help="Where the notebooks are written.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LESSON]...", help="For example 7, or masking; default: all."),
    ] = None,
    path: Annotated[
        str | None, typer.Option(help="The lessons of this path, for example six_evenings.")
    ] = None,
    language: Annotated[
        str,
        typer.Option(
            envvar=LANGUAGE_VARIABLE,
            help="The language of the text, and of what the checks say: en or ko.",
        ),
    ] = ENGLISH,
) -> None:
    """Write lessons to do: notebooks whose decisive lines are yours to write.

    A notebook that you have changed is never overwritten.
    """
    from annotated_transformer.cli.options import one_sentence, require_text
    from transformer_workbook.chapters.paths import lessons_of
    from transformer_workbook.lessons import write_lessons

    with one_sentence():
        require_text(folder, path, language, *(names or ()))
        for written in write_lessons(folder, [*(names or ()), *lessons_of(path)], language):
            typer.echo(written)


def progress(
    folder: Annotated[Path, typer.Argument(help="The folder of your notebooks.")] = Path(),
    path: Annotated[
        str | None, typer.Option(help="The lessons of this path, for example six_evenings.")
    ] = None,
) -> None:
    """Show which gaps and exercises you have passed, lesson by lesson."""
    from annotated_transformer.cli.options import one_sentence, require_text
    from transformer_workbook.lessons import progress_by_lesson

    with one_sentence():
        require_text(folder, path)
        typer.echo(progress_by_lesson(folder, path))

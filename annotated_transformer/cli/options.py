"""The command line's frame: the program, the options that commands share, how errors are told."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from annotated_transformer import __version__
from annotated_transformer.cli.workbook import OF_THE_WORKBOOK, launcher, missing
from annotated_transformer.devices import DEVICES
from annotated_transformer.errors import DivergedError, InputError
from annotated_transformer.inputs import is_utf8
from annotated_transformer.settings import BRIEF


class Program(TyperGroup):
    """The program; where it is called in a wrong way, one sentence says so."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As it is; what only the workbook has is asked for by its name."""
        if args[0] in OF_THE_WORKBOOK and args[0] not in self.commands:
            raise missing(args[0])
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As it is, for the options before the command; without any, the help is shown."""
        with without_usage() if args else nullcontext():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """As it is, for the command and its options."""
        with without_usage():
            return super().invoke(ctx)


@contextmanager
def without_usage() -> Iterator[None]:
    """Let an error in the use of the program be one sentence, in which the value stands."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "ctx"):  # Click's; the usage, which would come first, is the context's
            error.ctx = None
        if getattr(error, "option_name", "").startswith("- ") and hasattr(error, "message"):
            error.message = f"{error.message}. A text that begins with a dash comes after --."
        if hasattr(error, "message") and isinstance(error.__context__, ValidationError):
            (fault, *_) = error.__context__.errors()  # Typer leaves the value out
            requirement = fault["msg"].removeprefix("Input ")
            error.message = f"{BRIEF.repr(fault['input'])} {requirement}."
        raise


app = typer.Typer(
    cls=Program,
    help="Train translation models from RNN to Transformer, and use them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

CorpusOption = Annotated[
    str | None,
    typer.Option(
        help="toy (embedded English–Korean), multi30k (German–English, downloaded once), a folder "
        "with train.SRC, train.TGT, val.SRC, … (plain or .gz), or a two-column TSV file; the "
        "recipe's, or toy, if not given."
    ),
]
LanguagesOption = Annotated[
    str | None, typer.Option(help="Source and target as SRC-TGT, for example de-en.")
]
DeviceOption = Annotated[
    str,
    typer.Option(help=f"{', '.join(DEVICES)}: where to compute; auto: a GPU if there is one."),
]
PrecisionOption = Annotated[
    str,
    typer.Option(help="In how many bits to multiply: fewer are faster on some devices."),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a training run.")]
BeamOption = Annotated[
    int | None,
    typer.Option(help="Width of the beam, 1 is greedy search; the recipe's if not given."),
]
AlphaOption = Annotated[
    float | None, typer.Option(help="Exponent of the length penalty; the recipe's if not given.")
]
PackageOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="A package of your own (see 'start'): its modules are used where they are right, the "
        "course's where they are not.",
    ),
]


@contextmanager
def one_sentence() -> Iterator[None]:
    """Show an error of the input, or of a file, as one sentence, and exit with code 2."""
    try:
        yield
    except BrokenPipeError:
        raise  # whoever read our output has seen enough: that is no error
    except (InputError, DivergedError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from error


def handed_over(package: Path | None, command: Callable[..., Any], given: dict[str, Any]) -> bool:
    """Whether a package of one's own is given, with which the command was then run anew."""
    if package is None:
        return False
    with one_sentence():
        launcher()(package, command, given | {"package": None})
    return True


def require_text(*given: object) -> None:
    """Refuse arguments that are not UTF-8: they could neither be read nor shown.

    Raises:
        InputError: if there is one.
    """
    for argument in given:
        if not is_utf8(str(argument)):
            raise InputError(f"{argument!r} is not UTF-8 text.")


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


def version(wanted: bool) -> bool:
    """Say the version, and nothing else, if it is wanted."""
    if wanted:
        typer.echo(__version__)
        raise typer.Exit
    return wanted


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Train translation models from RNN to Transformer, and use them."""

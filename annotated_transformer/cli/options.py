"""The frame of the command line: the program, shared options, and how errors are reported."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any
from unicodedata import east_asian_width

import typer
from pydantic import ValidationError
from typer.core import TyperCommand, TyperGroup

from annotated_transformer import __version__
from annotated_transformer.cli.workbook import OF_THE_WORKBOOK, launcher, missing
from annotated_transformer.corpora import CORPORA, Corpus, load_corpus
from annotated_transformer.ground.devices import DEVICES
from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.ground.inputs import is_utf8
from annotated_transformer.ground.sentences import language, spoken
from annotated_transformer.ground.settings import BRIEF
from annotated_transformer.run import Run
from annotated_transformer.run.files import quoted
from annotated_transformer.run.screen import tell

Command = Callable[..., None]

FRAME = re.compile(r"^Usage:|^\w+:$|\[default:|\[required\]", re.MULTILINE)
"""What the help has around the words of a command."""


class Help:
    """A command whose help is in the language that is chosen."""

    def get_help(self, ctx: Any) -> str:
        """Make the help, in lines in which a wide character has the width of two others."""
        command: Any = self
        for part in (command, *getattr(command, "commands", {}).values(), *command.get_params(ctx)):
            said = spoken(part.help or "")
            part.help = "".join(c + "\0" * (east_asian_width(c) in "WF") for c in said)
        text = super().get_help(ctx)  # type: ignore[misc]
        return FRAME.sub(lambda found: spoken(found[0]), text).replace("\0", "")


class SubCommand(Help, TyperCommand):
    """A command of the program."""


class Program(Help, TyperGroup):
    """The program; wrong usage is reported in one sentence."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve a command as usual; explain a missing command of the workbook."""
        if args[0] in OF_THE_WORKBOOK and args[0] not in self.commands:
            raise missing(args[0])
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse options before the command as usual; show the help if there are no arguments."""
        with without_usage() if args else nullcontext():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Invoke the command as usual, with errors in one sentence."""
        with without_usage():
            return super().invoke(ctx)


@contextmanager
def without_usage() -> Iterator[None]:
    """Report a usage error in one sentence that contains the value."""
    with one_sentence():
        try:
            yield
        except Exception as error:
            if not hasattr(error, "format_message"):  # Click's; the usage would come first
                raise
            if hasattr(error, "message") and isinstance(error.__context__, ValidationError):
                (fault, *_) = error.__context__.errors()  # Typer leaves the value out
                requirement = fault["msg"].removeprefix("Input ")
                error.message = f"{BRIEF.repr(fault['input'])} {requirement}."
            told = error.format_message()
            if getattr(error, "option_name", "").startswith("- "):
                told = f"{told}. A text that begins with a dash comes after --."
            raise InputError(told) from error


class Commands(typer.Typer):
    """The program as it is put together from its commands."""

    def command(self, name: str | None = None, **given: Any) -> Callable[[Any], Any]:
        """Let a function be a command, whose help is in the language that is chosen."""
        return super().command(name, cls=SubCommand, **given)


app = Commands(
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
        "with train.SRC, train.TGT, val.SRC, … (plain or .gz), a two-column TSV file, or, for "
        "--model language, a plain text file (its last twentieth of lines is test, the one before "
        "it val); the recipe's, that of --from RUN, or toy, if not given."
    ),
]
LanguagesOption = Annotated[
    str | None,
    typer.Option(
        help="Source and target as SRC-TGT, for example de-en, or one language, for example en, to "
        "train a model of text alone; those of the run, if it has some."
    ),
]
ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Use text of which the vocabulary does not know half the tokens."),
]
DeviceOption = Annotated[
    str,
    typer.Option(help=f"The device, one of {', '.join(DEVICES)}; auto: a GPU if there is one."),
]
PrecisionOption = Annotated[
    str,
    typer.Option(help="The precision of matrix products; bfloat16 is faster on some devices."),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a training run.")]
SEARCH_OPTIONS: dict[str, Any] = {
    "beam": Annotated[
        int | None,
        typer.Option(help="Width of the beam, 1 is greedy search; the recipe's if not given."),
    ],
    "alpha": Annotated[
        float | None,
        typer.Option(help="Exponent of the length penalty; the recipe's if not given."),
    ],
    "best": Annotated[int | None, typer.Option(help="How many texts for each line, one a line.")],
    "sample": Annotated[
        bool | None, typer.Option("--sample", help="Sample tokens at random, with a beam of 1.")
    ],
    "temperature": Annotated[
        float | None, typer.Option(help="Temperature of sampling; above 1: more diverse.")
    ],
    "top_k": Annotated[int | None, typer.Option(help="Sample among the k most probable tokens.")],
    "top_p": Annotated[
        float | None,
        typer.Option(help="Sample among the most probable tokens that sum to this probability."),
    ],
    "min_p": Annotated[
        float | None,
        typer.Option(help="Sample among tokens with this share of the highest probability."),
    ],
    "seed": Annotated[int | None, typer.Option(help="The same seed gives the same samples.")],
}
"""The settings of a search that commands take, by name."""

PackageOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="A package of your own (see 'start'): its modules are used where they are correct, "
        "the course's modules otherwise.",
    ),
]


def proposed(run: Run) -> str:
    """Make the sentence that says how to use a run."""
    use = "translate" if run.recipe.has_source else "generate"
    return f'Try: annotated-transformer {use} {quoted(run.folder)} "…"'


def read_corpus(run: Run, corpus: str | None, languages: str | None = None) -> Corpus:
    """Load the corpus of a run, or another, in the languages of the run.

    Raises:
        InputError: if it cannot be loaded, or is no longer where the run found it.
    """
    known = run.recipe.corpus
    if corpus is None and known not in CORPORA and not Path(known).exists():
        raise InputError(
            f"there is no corpus {known!r}, which {run.folder} has: give with --corpus where its "
            "text is now."
        )
    pair = run.recipe.direction if languages is None else languages
    return load_corpus(known if corpus is None else corpus, pair)


def require_direction(run: Run, corpus: Corpus, languages: str | None) -> None:
    """Refuse to guess in which direction a run translates, where nothing says it.

    Raises:
        InputError: if another corpus than its own has two languages in the order of the alphabet.
    """
    recipe = run.recipe
    is_guessed = languages is None and recipe.direction is None and corpus.direction
    both = recipe.has_source and len(corpus.languages) == 2
    if is_guessed and both and corpus.name != recipe.corpus:
        raise InputError(
            f"{run.folder} does not know its languages, and {corpus.name} has "
            f"{' and '.join(corpus.languages)}: give --languages SRC-TGT."
        )


def tell_overlap(corpus: Corpus, *names: str) -> None:
    """Report how many pairs of some splits are also in the training split, and thus not unseen."""
    others, seen = dict[str, set[Any]](), dict[str, set[Any]]()
    for name in names:
        with suppress(InputError):  # an unreadable split does not prevent what is to come
            others[name], seen[name] = set(corpus.split(name)), set()
    with suppress(InputError):
        for texts in corpus.split("train"):
            for name in others:
                if texts in others[name]:
                    seen[name].add(texts)
    for name, both in seen.items():
        if both:
            told = f"{len(both):,} of {len(others[name]):,} different {corpus.kind} in {name}"
            tell(f"{told} are also in train.")


@contextmanager
def one_sentence() -> Iterator[None]:
    """Report an error of the input, or of a file, in one sentence, and exit with code 2."""
    try:
        language()  # an unknown one is refused before anything is said in it
        yield
    except BrokenPipeError:
        raise  # the reader of our output closed the pipe: that is not an error
    except (InputError, DivergedError, OSError) as error:
        typer.echo(f"{spoken('Error:')} {spoken(str(error))}", err=True)
        raise typer.Exit(2) from error


def say(sentence: str) -> None:
    """Print a sentence in the language that is chosen."""
    typer.echo(spoken(sentence))


def takes_search(*names: str) -> Callable[[Command], Command]:
    """Let a command take the options of a search by these names, in place of its ``asked``.

    ``asked`` are those that are given, by name.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def taking(**given: Any) -> None:
            options = {name: given.pop(name) for name in names}
            asked = {name: value for name, value in options.items() if value is not None}
            command(asked=asked, **given)

        shown = signature(command)
        parts = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=SEARCH_OPTIONS[name])
            for name in names
        ]
        others = [part.replace(kind=Parameter.KEYWORD_ONLY) for part in shown.parameters.values()]
        at = [part.name for part in others].index("asked")
        others[at : at + 1] = parts
        taking.__annotations__ = {part.name: part.annotation for part in others}
        taking.__signature__ = shown.replace(parameters=others)  # type: ignore[attr-defined]
        return taking

    return decorate


def takes_package(
    changed: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> Callable[[Command], Command]:
    """Run a command, if a package of the reader's own is given, with its modules.

    ``changed`` makes of the options those with which it is then run, or refuses them.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def running(**given: Any) -> None:
            if given["package"] is None:
                command(**given)
                return
            with one_sentence():
                launcher()(given["package"], running, changed(given) | {"package": None})

        return running

    return decorate


def require_text(*given: object) -> None:
    """Refuse arguments that are not UTF-8: they could neither be read nor shown.

    Raises:
        InputError: if there is one.
    """
    for argument in given:
        if not is_utf8(str(argument)):
            raise InputError(f"{argument!r} is not UTF-8 text.")


def parsed(setting: str) -> tuple[str, Any]:
    """Split KEY=VALUE into the name and the value, which is JSON, or else a text.

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
    """Print the version and exit, if it is asked for."""
    if wanted:
        typer.echo(__version__)
        raise typer.Exit
    return wanted


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train translation models from RNN to Transformer, and use them."""

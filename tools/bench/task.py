"""What a contestant is, and what all contestants of a contest are given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from annotated_transformer.errors import InputError, require_choice


class Contestant(Protocol):
    """Somebody who does the work of a contest, in a process of its own."""

    def answer(self) -> list[float] | list[str]:
        """What has to be equal for all: numbers (to a tolerance), or texts. Asked once, first."""
        ...

    def work(self, turn: int) -> int:
        """Do the work of a turn, the same for all; give how many tokens or sentences it had."""
        ...


class Contest(Protocol):
    """A module of the bench: the work, and those who do it."""

    CONTESTANTS: dict[str, Callable[[Path], Contestant]]
    """Made of the folder that was prepared; the first is the one that others are compared with."""

    TOLERANCE: float
    """How far apart answers that are numbers may be."""

    def suits(self, name: str) -> bool:
        """Whether a contestant can take part on this machine."""
        ...

    def prepare(self, folder: Path) -> None:
        """Write what all contestants read into an empty folder."""
        ...


def load_contest(name: str) -> Any:
    """The contest of that name.

    Raises:
        InputError: if there is none.
    """
    import importlib

    require_choice("contest", name, ("training",))
    return importlib.import_module(f"bench.{name}")


def require_equal(answers: dict[str, Any], tolerance: float) -> None:
    """Make sure that all contestants do the same work.

    Raises:
        InputError: if one gives another answer than the first.
    """
    (first, expected), *others = answers.items()
    for name, answer in others:
        pairs = zip(answer, expected, strict=True)
        if not all(a == b or _close(a, b, tolerance) for a, b in pairs):
            raise InputError(
                f"{name} answers {answer[:3]}…, it must be {expected[:3]}…, as {first} does."
            )


def _close(one: Any, other: Any, tolerance: float) -> bool:
    return not isinstance(one, str) and abs(one - other) <= tolerance * abs(other)

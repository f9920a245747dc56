"""What a contestant is, and what all contestants of a contest are given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import torch

from annotated_transformer.errors import InputError, require_choice
from annotated_transformer.fast.products import onednn_multiplies

ROOT = Path(__file__).resolve().parents[2]


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
    """Made of the folder that was prepared."""

    ENVIRONMENT: dict[str, str]
    """Variables for their processes; a contest that needs none leaves it out."""

    def reference(self, name: str) -> str:
        """With whom a contestant is compared; it may be itself."""
        ...

    def judge(self, answers: dict[str, Any]) -> dict[str, dict[str, int]]:
        """Refuse answers that are not those of the same work; say what else is to be recorded."""
        ...

    def prepare(self, folder: Path) -> dict[str, Any] | None:
        """Write what all contestants read into an empty folder; say what is to be recorded."""
        ...


CONTESTS = (
    "training",
    "two_threads",
    "older",
    "levers",
    "levers_two_threads",
    "accelerator",
    "greedy",
    "beam",
)


def load_contest(name: str) -> Any:
    """The contest of that name.

    Raises:
        InputError: if there is none.
    """
    import importlib

    require_choice("contest", name, CONTESTS)
    return importlib.import_module(f"bench.{name}")


def environment(contest: Any) -> dict[str, str]:
    """The variables of the processes of a contest."""
    variables: dict[str, str] = getattr(contest, "ENVIRONMENT", {})
    return variables


def suits(name: str) -> bool:
    """Whether this machine has what a contestant of that name needs: instructions for 16 bits."""
    return "bfloat16" not in name or onednn_multiplies(torch.bfloat16)


def require_equal(answers: dict[str, Any], tolerance: float, in_16_bits: float = 0.0) -> None:
    """Make sure that all contestants do the same work; in 16 bits, numbers may be further apart.

    Raises:
        InputError: if one gives another answer than the first.
    """
    (first, expected), *others = answers.items()
    for name, answer in others:
        pairs = zip(answer, expected, strict=True)
        within = max(tolerance, in_16_bits) if "bfloat16" in name else tolerance
        if not all(a == b or _close(a, b, within) for a, b in pairs):
            raise InputError(
                f"{name} answers {answer[:3]}…, it must be {expected[:3]}…, as {first} does."
            )


def _close(one: Any, other: Any, tolerance: float) -> bool:
    return not isinstance(one, str) and abs(one - other) <= tolerance * abs(other)

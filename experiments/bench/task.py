"""What a contestant is, and what all contestants of a contest are given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import torch

from annotated_transformer.fast.products import onednn_multiplies
from annotated_transformer.ground.errors import InputError, require_choice

ROOT = Path(__file__).resolve().parents[2]


class Contestant(Protocol):
    """A process that does the work of a contest."""

    def answer(self) -> list[float] | list[str]:
        """Return what must be equal for all: numbers, to a tolerance, or texts; called once."""
        ...

    def work(self, turn: int) -> int:
        """Do the work of a turn, the same for all; return how many tokens or sentences it had."""
        ...


class Contest(Protocol):
    """A module of the benchmark: the work, and the contestants."""

    CONTESTANTS: dict[str, Callable[[Path], Contestant]]
    """Made from the folder that was prepared."""

    ENVIRONMENT: dict[str, str]
    """Environment variables for their processes; optional."""

    def reference(self, name: str) -> str:
        """Return the contestant with which one is compared; it may be itself."""
        ...

    def judge(self, answers: dict[str, Any]) -> dict[str, dict[str, int]]:
        """Refuse answers of other work; return further numbers for the record."""
        ...

    def prepare(self, folder: Path) -> dict[str, Any] | None:
        """Write what all contestants read into an empty folder; return notes for the record."""
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
    """Return the contest of that name.

    Raises:
        InputError: if there is none.
    """
    import importlib

    require_choice("contest", name, CONTESTS)
    return importlib.import_module(f"bench.{name}")


def environment(contest: Any) -> dict[str, str]:
    """Return the environment variables for the processes of a contest."""
    variables: dict[str, str] = getattr(contest, "ENVIRONMENT", {})
    return variables


def suits(name: str) -> bool:
    """Tell whether this machine has what a contestant needs: instructions for 16 bits."""
    return "bfloat16" not in name or onednn_multiplies(torch.bfloat16)


def require_equal(answers: dict[str, Any], tolerance: float, in_16_bits: float = 0.0) -> None:
    """Refuse contestants that do different work; in 16 bits, numbers may be further apart.

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

"""Tables that take long to make: stored row by row, with how they were made beside them."""

import csv
import io
import json
import multiprocessing
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.ground.errors import InputError
from annotated_transformer.run.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "book" / "records"
Row = dict[str, Any]


def here(command: str, threads: int) -> Row:
    """Describe the command, the machine and the versions: rows of others are not mixed with it."""
    return {
        "command": command,
        "python": platform.python_version(),
        "torch": torch.__version__.split("+")[0],
        "machine": f"{platform.machine()}, {['one thread', 'two threads'][threads - 1]} a run",
    }


def read(path: Path) -> list[Row]:
    """Read the rows of a table, every value a text; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def with_seeds(runs: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return each name with its seeds, from 1 to the number of its runs."""
    return [(name, seed) for name, number in runs.items() for seed in range(1, number + 1)]


@dataclass(frozen=True)
class Tables:
    """A folder of tables, and what to do about a missing row: make it, or report it."""

    folder: Path = RECORDS
    command: str = "make records"  # stored beside a table as the command that makes it
    check: bool = False  # a missing row is an error, nothing is made
    notes: Mapping[str, Row] = field(default_factory=dict)  # further entries beside each table

    def path(self, name: str) -> Path:
        """Return the path of a table."""
        return self.folder / f"{name}.csv"

    def write(self, name: str, rows: list[Row], threads: int = 1) -> None:
        """Write a table, and beside it how it was made."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_atomically(self.path(name), text.getvalue())
        self.describe(name, here(self.command, threads))

    def describe(self, name: str, made: Row) -> None:
        """Write beside a table how it was made, and its notes."""
        text = json.dumps(made | self.notes.get(name, {}), indent=2, ensure_ascii=False)
        write_atomically(self.path(name).with_suffix(".json"), text + "\n")

    def made(self, name: str) -> Row:
        """Return how a table was made, without its notes."""
        stored: Row = json.loads(self.path(name).with_suffix(".json").read_text("utf-8"))
        return {key: stored[key] for key in here("", 1) if key in stored}

    def extend(
        self,
        name: str,
        function: Callable[..., Row],
        tasks: Sequence[tuple[Any, ...]],
        keys: list[str],
        finish: Callable[[list[Row]], list[Row]] = list,
        workers: int = 2,
        threads: int = 1,
    ) -> list[Row]:
        """Make the rows that are missing, and store each at once.

        A row is the result of ``function`` for a task; the columns ``keys`` identify the task.
        ``finish`` is applied to all rows before they are stored.

        Raises:
            InputError: if the existing rows were made with other versions, or one is missing
                and nothing is to be made.
        """
        path = self.path(name)
        rows = read(path)

        def key(row: Row) -> tuple[str, ...]:
            return tuple(str(row[column]) for column in keys)

        done = set(map(key, rows))
        order = [tuple(map(str, task)) for task in tasks]
        missing = [task for task, k in zip(tasks, order, strict=True) if k not in done]
        if not missing:
            if not self.check:
                self.describe(name, self.made(name))
            return rows
        if self.check:
            first = ", ".join(f"{k} {v!r}" for k, v in zip(keys, missing[0], strict=True))
            raise InputError(
                f"{path.name} lacks {len(missing)} of {len(tasks)} rows, first that of {first}: "
                f"'{self.command}' makes what is missing."
            )
        now = here(self.command, threads)
        if rows and (made := self.made(name)) != now:
            raise InputError(f"{path.name} was made with {made}, here is {now}: delete it first.")
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            for row in pool.imap_unordered(_call, [(function, task) for task in missing]):
                rows.append(row)
                # Rows of other tasks come first, as they were; then these, in the tasks' order.
                rows.sort(key=lambda row: order.index(key(row)) if key(row) in order else -1)
                self.write(name, finish(rows), threads)
        return rows

    def lacks(self, path: Path) -> bool:
        """Tell whether a file or a folder that is made from tables has to be made.

        Raises:
            InputError: if it has, and nothing is to be made.
        """
        if self.check and not path.exists():
            raise InputError(f"there is no {path}: '{self.command}' makes what is missing.")
        return not path.exists()


def _call(work: tuple[Callable[..., Row], tuple[Any, ...]]) -> Row:
    function, arguments = work
    return function(*arguments)

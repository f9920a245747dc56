"""Tables that take long to make: kept row by row, with how they were made beside them."""

import csv
import io
import json
import multiprocessing
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.checkpoints import write_atomically
from annotated_transformer.errors import InputError

RECORDS = Path(__file__).resolve().parent.parent / "book" / "records"
COMMAND = "make records"
Row = dict[str, Any]


def here(command: str, threads: int) -> Row:
    """Return what stands beside a table: what makes it, and on what."""
    return {
        "command": command,
        "python": platform.python_version(),
        "torch": torch.__version__.split("+")[0],
        "machine": f"{platform.machine()}, {['one thread', 'two threads'][threads - 1]} a run",
    }


def read(path: Path) -> list[Row]:
    """Return the rows of a table that has been begun."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[Row], command: str = COMMAND, threads: int = 1) -> None:
    """Write a table, and beside it how it was made."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue())
    made = json.dumps(here(command, threads), indent=2)
    write_atomically(path.with_suffix(".json"), made + "\n")


def _call(work: tuple[Callable[..., Row], tuple[Any, ...]]) -> Row:
    function, arguments = work
    return function(*arguments)


def extend(
    path: Path,
    function: Callable[..., Row],
    tasks: list[tuple[Any, ...]],
    keys: list[str],
    finish: Callable[[list[Row]], list[Row]] = list,
    workers: int = 2,
    command: str = COMMAND,
    threads: int = 1,
) -> list[Row]:
    """Make the rows that are missing, and store each as soon as it is there.

    Raises:
        InputError: if the rows that are there were made with other versions.
    """
    rows = read(path)

    def key(row: Row) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in keys)

    done = set(map(key, rows))
    missing = [t for t in tasks if tuple(map(str, t)) not in done]
    if not missing:
        return rows
    now = here(command, threads)
    if rows and (made := json.loads(path.with_suffix(".json").read_text())) != now:
        raise InputError(f"{path.name} was made with {made}, here is {now}: delete it first.")
    order = [tuple(map(str, t)) for t in tasks]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for row in pool.imap_unordered(_call, [(function, t) for t in missing]):
            rows.append(row)
            # Rows of other tasks come first, as they were; then these, in the order of the tasks.
            rows.sort(key=lambda row: order.index(key(row)) if key(row) in order else -1)
            write(path, finish(rows), command, threads)
    return rows

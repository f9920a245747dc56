"""The record of the notebooks' runs: seconds on one core, megabytes of memory, day and versions.

A row belongs to the code that was run: it has a digest of the code cells. A run of the same
code with the same versions keeps its row, so that running twice changes no byte.
"""

import csv
import hashlib
import json
import platform
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

BOOK = Path(__file__).resolve().parent.parent / "book"
RECORD = BOOK / "status.csv"


@dataclass(frozen=True)
class Run:
    """One run of one notebook."""

    notebook: str
    seconds: int
    megabytes: int
    date: str
    python: str
    torch: str
    digest: str

    def repeats(self, earlier: "Run | None") -> bool:
        """Tell whether the same code was run with the same versions before."""
        return earlier is not None and (self.python, self.torch, self.digest) == (
            earlier.python,
            earlier.torch,
            earlier.digest,
        )


def digest(path: Path) -> str:
    """Return twelve letters that change when a code cell of a notebook does."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:12]


def name_of(path: Path) -> str:
    """Return a notebook's name in the book, as `deeper/cache`."""
    return path.resolve().relative_to(BOOK).with_suffix("").as_posix()


def measured(path: Path, seconds: float, megabytes: float) -> Run:
    """Describe a run that has just ended."""
    torch = version("torch").partition("+")[0]
    today = datetime.now(UTC).date().isoformat()
    used = round(seconds), round(megabytes)
    return Run(name_of(path), *used, today, platform.python_version(), torch, digest(path))


def read(record: Path = RECORD) -> dict[str, Run]:
    """Return the rows by the names of the notebooks."""
    if not record.exists():
        return {}
    with record.open(newline="", encoding="utf-8") as file:
        rows = [
            Run(**row | {key: int(row[key]) for key in ("seconds", "megabytes")})
            for row in csv.DictReader(file)
        ]
    return {row.notebook: row for row in rows}


def is_current(run: Run) -> bool:
    """Tell whether the notebook still has the code that was run."""
    path = BOOK / f"{run.notebook}.ipynb"
    return path.exists() and digest(path) == run.digest


def write(runs: list[Run], record: Path = RECORD) -> None:
    """Add new runs, and remove rows whose code has changed."""
    rows = read(record)
    rows |= {run.notebook: run for run in runs if not run.repeats(rows.get(run.notebook))}
    with record.open("w", newline="", encoding="utf-8") as file:
        names = [field.name for field in fields(Run)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(rows[name]) for name in sorted(rows) if is_current(rows[name]))

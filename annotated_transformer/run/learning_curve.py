"""The learning curve of a run, as a table that any program can read."""

import csv
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

from annotated_transformer.ground.errors import InputError
from annotated_transformer.run.files import write_atomically

COLUMNS = ("step", "seconds", "rate", "train_loss", "gradient_norm", "val_perplexity")


def is_row(fields: Sequence[str]) -> bool:
    """Tell whether these are the fields of a row: a number in each column, the first a step.

    At step 0, before the training, what only a training has is empty.
    """
    step, *numbers = fields or [""]
    try:
        finite = all(isfinite(float(n)) for n in numbers if n or step != "0")
    except ValueError:
        finite = False
    return finite and len(fields) == len(COLUMNS) and re.fullmatch("[0-9]{1,18}", step) is not None


class LearningCurve:
    """One row for each validation, in ``learning_curve.csv``.

    That of step 0 is of the weights from which a training started, if they are of another run.
    """

    def __init__(self, path: Path, steps: int) -> None:
        """Keep the rows up to ``steps``; those after the last checkpoint will be made again.

        Raises:
            InputError: if the file is not such a table.
        """
        self.path = path
        kept = [list(COLUMNS)]
        if path.exists():
            with path.open(newline="", encoding="utf-8", errors="replace") as file:
                try:
                    header, *rows = [*csv.reader(file)] or [[]]
                except csv.Error:  # a field that never ends
                    header, rows = [], []
            if header != list(COLUMNS) or not all(map(is_row, rows)):
                raise InputError(f"{path} is not a learning curve: delete it, or repair its rows.")
            kept += [row for row in rows if int(row[0]) <= steps]
        self.lines = [",".join(row) for row in kept]
        self._write()

    def append(self, row: Mapping[str, int | float]) -> None:
        """Append one row, which is written whole or not at all; what it has not is empty."""
        self.lines.append(",".join(str(row.get(column, "")) for column in COLUMNS))
        self._write()

    @property
    def at_first(self) -> float | None:
        """Return the perplexity at step 0, if it was measured."""
        first = self.lines[1] if len(self.lines) > 1 else ""
        return float(first.rpartition(",")[2]) if first.startswith("0,") else None

    def _write(self) -> None:
        write_atomically(self.path, "\n".join(self.lines) + "\n")

"""Metrics: the learning curve of a run, as a table that any program can read."""

import csv
from collections.abc import Mapping
from pathlib import Path

from annotated_transformer.checkpoints import write_atomically
from annotated_transformer.errors import InputError

COLUMNS = ("step", "seconds", "rate", "train_loss", "gradient_norm", "val_perplexity")


class Metrics:
    """The learning curve of a run, one row at a validation, in ``metrics.csv``."""

    def __init__(self, path: Path, steps: int) -> None:
        """Keep the rows up to ``steps``; those after the last checkpoint will be made again.

        Raises:
            InputError: if the file is not such a table.
        """
        self.path = path
        kept = [list(COLUMNS)]
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                header, *rows = [*csv.reader(file)] or [[]]
            whole = all(len(row) == len(COLUMNS) and row[0].isdecimal() for row in rows)
            if header != list(COLUMNS) or not whole:
                raise InputError(f"{path} is not a learning curve: delete it, or mend its rows.")
            kept += [row for row in rows if int(row[0]) <= steps]
        lines = [",".join(row) for row in kept]
        write_atomically(path, "\n".join(lines) + "\n")

    def write(self, row: Mapping[str, int | float]) -> None:
        """Append one row."""
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)

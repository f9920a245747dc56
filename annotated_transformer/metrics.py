"""Metrics: the learning curve of a run, as a table that any program can read."""

import csv
from collections.abc import Mapping
from pathlib import Path

from annotated_transformer.checkpoints import write_atomically

COLUMNS = ("step", "seconds", "rate", "train_loss", "gradient_norm", "val_perplexity")


class Metrics:
    """The learning curve of a run, one row at a validation, in ``metrics.csv``."""

    def __init__(self, path: Path, steps: int) -> None:
        """Keep the rows up to ``steps``; those after the last checkpoint will be made again."""
        self.path = path
        rows = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                rows = [row for row in csv.DictReader(file) if int(row["step"]) <= steps]
        lines = [",".join(COLUMNS), *(",".join(row[c] for c in COLUMNS) for row in rows)]
        write_atomically(path, "\n".join(lines) + "\n")

    def write(self, row: Mapping[str, int | float]) -> None:
        """Append one row."""
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)

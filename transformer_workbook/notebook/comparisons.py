"""Comparisons of trained models: the conditions, their means with intervals, and what is claimed.

They stand in ``records/comparisons.toml``, beside the records whose rows they compare:

    [factor]
    records = ["scaling"]
    measure = "parties solved, %"
    claims = [["divided by √d_k", ">", "not divided"]]

    [factor.conditions]
    "divided by √d_k" = {column = "right_100", model = "1/√d_k", d_k = 256, best = "loss_100"}
    "not divided" = {column = "right_100", model = "1", d_k = 256, best = "loss_100"}

A condition names a column and the values by which its rows are found; ``best`` takes those rows
whose learning rate had the lowest mean of that column over the seeds that choose. Only fresh seeds
are compared, those between the two of ``fresh``, 1 to 99 unless said otherwise.

A claim is ``>`` or ``<`` where the runs settle which is larger: at most a twentieth of all such
claims may be chance (Benjamini and Hochberg 1995). It is ``~`` where the 95 % interval of the
difference lies within ``margin``, so that a larger one is excluded, and ``?`` where neither is
settled. Runs are independent, and the difference is Welch's; where both arms of a seed share what
makes runs differ, ``paired`` names it, and the difference is taken seed by seed.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.ground.inputs import StrPath, require_path
from transformer_workbook.notebook.intervals import (
    Interval,
    difference,
    mean_interval,
    paired_difference,
)
from transformer_workbook.notebook.tables import table
from transformer_workbook.places import course_file

RELATIONS = (">", "<", "~", "?")


@dataclass(frozen=True)
class Comparison:
    """Conditions whose runs are compared, and the claims about them."""

    folder: Path  # of the records
    records: Sequence[str]  # the tables that hold the runs
    measure: str  # of a run, with its unit
    conditions: Mapping[str, Mapping[str, Any]]  # the column, and which rows
    claims: Sequence[Sequence[str]]  # condition, relation, condition
    refuter: str = ""  # the record or comparison whose rows another method made
    scale: float = 100.0  # from the column's unit to that of the measure: from shares to per cent
    log: bool = False  # the natural logarithm of the column is compared
    paired: str = ""  # what the runs of a seed share: "one trained model"
    fresh: Sequence[int] = (1, 99)  # the first and the last seed that chose no setting
    decimals: int = 1  # that are shown
    margin: float = 0.0  # a smaller difference would not matter, in the unit of the measure
    most: float = 100.0  # that can be measured, as 0 is the least: intervals are shown up to there

    @cached_property
    def rows(self) -> Any:
        """The rows of all its records, as one table."""
        import pandas as pd

        return pd.concat([pd.read_csv(self.folder / f"{name}.csv") for name in self.records])

    def runs(self, condition: str) -> list[float]:
        """Return what the fresh seeds of a condition measured, in order.

        Raises:
            InputError: if the comparison has no such condition, or the records no such rows.
        """
        require_choice("condition", condition, self.conditions)
        where = dict(self.conditions[condition])
        column, best = where.pop("column"), where.pop("best", "")
        rows = self.rows
        for name, value in where.items():
            rows = rows[rows[name] == value]
        if best:
            trials = rows[~rows.seed.between(*self.fresh)]
            rows = rows[rows.rate == trials.groupby("rate")[best].mean().idxmin()]
        found = rows[rows.seed.between(*self.fresh)].sort_values("seed")
        if found.empty or found.seed.duplicated().any():
            raise InputError(f"{condition!r} has to find one row for each fresh seed: {where}.")
        values = found[column].tolist()
        return [math.log(value) if self.log else self.scale * value for value in values]

    def mean(self, condition: str) -> Interval:
        """Compute the mean over the fresh seeds, with its 95 % interval."""
        return mean_interval(self.runs(condition))

    def shown(self, mean: Interval) -> tuple[float, float]:
        """Cut the ends of an interval at what can be measured; a logarithm has no bounds."""
        if self.log:
            return mean.low, mean.high
        return max(0.0, mean.low), min(self.most, mean.high)

    def difference(self, first: str, second: str) -> Interval:
        """Compute by how much the mean of the first is larger, with its 95 % interval."""
        compare = paired_difference if self.paired else difference
        return compare(self.runs(first), self.runs(second))


def comparisons(folder: StrPath | None = None) -> dict[str, Comparison]:
    """Read all comparisons of a folder of records, by name.

    Raises:
        InputError: if a claim has another relation than ``>``, ``<``, ``~`` and ``?``.
    """
    folder = require_path("folder", folder or course_file("records"))
    found = tomllib.loads((folder / "comparisons.toml").read_text("utf-8"))
    for comparison in found.values():
        for _, relation, _ in comparison["claims"]:
            require_choice("relation", relation, RELATIONS)
    return {name: Comparison(folder, **comparison) for name, comparison in found.items()}


def compare(name: str) -> Any:
    """Show a comparison as a table: a row for each condition, its mean, interval and runs.

    The text beside it takes its numbers from here: ``{glue:text}`NAME-1``` is the mean of the first
    condition, ``NAME-gain-1`` the difference that the first claim is about, with its interval.
    """
    from myst_nb import glue

    require_choice("comparison", name, known := comparisons())
    comparison = known[name]
    means = {condition: comparison.mean(condition) for condition in comparison.conditions}
    spec = f".{comparison.decimals}f"
    for number, mean in enumerate(means.values(), start=1):
        glue(f"{name}-{number}", f"{mean.value:{spec}}", display=False)
    for number, (first, _, second) in enumerate(comparison.claims, start=1):
        gain = comparison.difference(first, second)
        glue(f"{name}-gain-{number}", f"{gain:{spec}}", display=False)
    rows = [
        {
            comparison.measure: f"{mean.value:{spec}}",
            "95 % interval": " to ".join(f"{end:{spec}}" for end in comparison.shown(mean)),
            "runs": len(comparison.runs(condition)),
        }
        for condition, mean in means.items()
    ]
    return table(rows, rows=list(means))

"""Trials: every model is tried in as many ways; the best by validation is trained again."""

from collections.abc import Iterable

from records.tables import Row

SEEDS = (0, 1, 2)
"""The first is that of the trials; the best of them is trained with the others, too."""


def best_trial(rows: Iterable[Row], name: str) -> Row:
    """The trial of a model with the lowest validation perplexity."""
    trials = [row for row in rows if row["model"] == name and int(row["seed"]) == SEEDS[0]]
    return min(trials, key=lambda row: float(row["val_perplexity"]))


def mark_chosen(rows: list[Row], settings: tuple[str, ...] = ("rate",)) -> list[Row]:
    """Tell for every row whether its settings are those that were chosen for its model."""
    best = {name: best_trial(rows, name) for name in {row["model"] for row in rows}}
    return [
        {**row, "chosen": all(str(row[key]) == str(best[row["model"]][key]) for key in settings)}
        for row in rows
    ]

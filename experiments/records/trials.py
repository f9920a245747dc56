"""Trials choose the rate of every model; fresh seeds, which chose nothing, are its results."""

from collections.abc import Callable, Collection, Iterable, Sequence

from records.tables import Row, Tables

TRIAL = 0
"""The seed of the trials, which choose a rate and are not reported."""

SEEDS = (1, 2, 3, 4, 5)
"""The fresh seeds: with the same one, two models meet the same batches, so they can be paired."""

FACTOR = 2.0
"""The factor by which the grid of rates grows while the best is at its edge."""


def best_rate(rows: Iterable[Row], model: str, criterion: str = "val_perplexity") -> float:
    """Return the rate of a model's trial with the lowest validation perplexity."""
    trials = [row for row in rows if row["model"] == model and int(row["seed"]) == TRIAL]
    return float(min(trials, key=lambda row: float(row[criterion]))["rate"])


def tried_rates(rows: Iterable[Row], model: str) -> list[float]:
    """Return the rates of a model's trials, the lowest first, those of other calls included."""
    trials = (row for row in rows if row["model"] == model and int(row["seed"]) == TRIAL)
    return sorted({float(row["rate"]) for row in trials})


def widened(grid: Sequence[float], best: float) -> list[float]:
    """Add a rate to a grid if the best is at its edge."""
    below = [best / FACTOR] * (best == min(grid))
    above = [best * FACTOR] * (best == max(grid))
    return [*below, *grid, *above]


def tune(
    tables: Tables,
    table: str,
    train: Callable[..., Row],
    models: Collection[str],
    rates: Sequence[float],
    criterion: str = "val_perplexity",
) -> list[Row]:
    """Try rates until the best of each model is inside its grid; train it with fresh seeds.

    The best is that with the lowest number in the column ``criterion``.
    """
    keys = ["model", "rate", "seed"]
    grids = {model: list(rates) for model in models}
    while True:
        trials = [(model, rate, TRIAL) for model, grid in grids.items() for rate in grid]
        rows = tables.extend(table, train, trials, keys)
        grids = {model: tried_rates(rows, model) for model in models}
        best = {model: best_rate(rows, model, criterion) for model in models}
        wider = {model: widened(grid, best[model]) for model, grid in grids.items()}
        if wider == grids:
            break
        grids = wider
    results = [(model, best[model], seed) for model in models for seed in SEEDS]
    return tables.extend(table, train, trials + results, keys)


def tuned_rate(
    tables: Tables, table: str, train: Callable[..., Row], model: str, rates: Sequence[float]
) -> float:
    """Return the best rate of one model of a table, after its trials."""
    return best_rate(tune(tables, table, train, [model], rates), model)

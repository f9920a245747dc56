"""Runs on the toy corpus: train a model, and measure everything that the book's tables tell."""

import statistics
import time
from collections.abc import Callable, Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.alignment import alignment_errors
from annotated_transformer.evaluation import perplexity
from annotated_transformer.experiments import (
    BINS,
    ToyTask,
    exactly_right,
    share_by_length,
    train_briefly,
)
from record_tables import Row, extend

STEPS = 2000
SEEDS = (0, 1, 2)
RATES = (2e-3, 4e-3, 8e-3)  # tried for every model, with seed 0
COLUMNS = [bin.replace("–", "-") for bin in BINS]


@cache
def task() -> ToyTask:
    """Make the corpus once in each process."""
    return ToyTask.make()


def operations(run: Any, *arguments: Any) -> int:
    """Count the multiplications and additions in the matrix products of one call."""
    with FlopCounterMode(display=False) as counter:
        run(*arguments)
    return int(counter.get_total_flops())


def times_in_turns(*works: Callable[[], Any], repeats: int, skip: int = 0) -> list[float]:
    """Return the median seconds of each work on one thread; taking turns, all meet the same noise.

    The first ``skip`` times of each are left out.
    """
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, times in zip(works, seconds, strict=True):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return [statistics.median(times[skip:]) for times in seconds]


def train_and_measure(model: Any, attention: str, rate: float, seed: int, steps: int) -> Row:
    """Train the model; measure it on the test split, the alignment with the attention named."""
    train_briefly(model, task().examples("train"), steps, rate, seed)
    test, longer = task().examples("test"), task().examples("longer")
    right = exactly_right(model, test)
    gold = [pair.alignment for pair in task().pairs["test"]]
    errors = alignment_errors(model, test, gold)
    return {
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "val_perplexity": round(perplexity(model, task().examples("val")), 4),
        "exact": sum(right) / len(right),
        **{b: round(s, 4) for b, s in zip(COLUMNS, share_by_length(right, test), strict=True)},
        "longer": sum(exactly_right(model, longer)) / len(longer),
        "aer": round(errors[attention], 4) if attention else "",
    }


def best_trial(rows: Iterable[Row], name: str) -> Row:
    """Return the trial of a model with the lowest validation perplexity."""
    trials = [row for row in rows if row["model"] == name and int(row["seed"]) == SEEDS[0]]
    return min(trials, key=lambda row: float(row["val_perplexity"]))


def best_rate(rows: Iterable[Row], name: str) -> float:
    """Return the rate of the best trial of a model."""
    return float(best_trial(rows, name)["rate"])


def mark_chosen(rows: list[Row], settings: tuple[str, ...] = ("rate",)) -> list[Row]:
    """Tell for every row whether its settings are those that were chosen for its model."""
    best = {name: best_trial(rows, name) for name in {row["model"] for row in rows}}
    return [
        {**row, "chosen": all(str(row[key]) == str(best[row["model"]][key]) for key in settings)}
        for row in rows
    ]


def tune(path: Path, train: Callable[..., Row], names: Collection[str]) -> None:
    """Try every rate with the first seed, then train the best of each model with the others."""
    keys = ["model", "rate", "seed"]
    trials = [(name, rate, SEEDS[0]) for name in names for rate in RATES]
    rows = extend(path, train, trials, keys, mark_chosen)
    again = [(name, best_rate(rows, name), seed) for name in names for seed in SEEDS[1:]]
    extend(path, train, trials + again, keys, mark_chosen)

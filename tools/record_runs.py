"""Runs on the toy corpus: train a model, and measure everything that the book's tables tell."""

import statistics
import time
from collections.abc import Callable, Iterable
from functools import cache
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
from record_tables import Row

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


def best_rate(rows: Iterable[Row], name: str) -> float:
    """Return the rate with the lowest validation perplexity among the trials of a model."""
    trials = [row for row in rows if row["model"] == name and int(row["seed"]) == SEEDS[0]]
    return float(min(trials, key=lambda row: float(row["val_perplexity"]))["rate"])


def mark_chosen(rows: list[Row]) -> list[Row]:
    """Tell for every row whether its rate is the one that was chosen for its model."""
    best = {name: best_rate(rows, name) for name in {row["model"] for row in rows}}
    return [{**row, "chosen": float(row["rate"]) == best[row["model"]]} for row in rows]

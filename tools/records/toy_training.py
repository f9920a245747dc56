"""Runs on the toy corpus: train a model, and measure everything that the book's tables tell."""

from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from annotated_transformer.alignment import alignment_errors
from annotated_transformer.course import (
    BINS,
    ToyTask,
    exactly_right,
    share_by_length,
    train_briefly,
)
from annotated_transformer.evaluation import perplexity
from records.tables import Row, Tables
from records.trials import SEEDS, best_trial, mark_chosen

STEPS = 2000
RATES = (2e-3, 4e-3, 8e-3)  # tried for every model, with the first seed
COLUMNS = [bin.replace("–", "-") for bin in BINS]


@cache
def task() -> ToyTask:
    """The corpus, made once in each process."""
    return ToyTask.make()


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


def tune(tables: Tables, table: str, train: Callable[..., Row], names: Collection[str]) -> None:
    """Try every rate with the first seed, then train the best of each model with the others."""
    keys = ["model", "rate", "seed"]
    trials = [(name, rate, SEEDS[0]) for name in names for rate in RATES]
    rows = tables.extend(table, train, trials, keys, mark_chosen)
    best = {name: float(best_trial(rows, name)["rate"]) for name in names}
    again = [(name, best[name], seed) for name in names for seed in SEEDS[1:]]
    tables.extend(table, train, trials + again, keys, mark_chosen)

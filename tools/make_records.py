"""Make the records of the book: results that take longer than a chapter has.

    python tools/make_records.py            # all that are missing: `make records`

A record is a table in book/records, one row a run, and beside it a JSON file that says how it was
made. A row that is already there is kept; delete a table to make it anew.
"""

import csv
import io
import json
import multiprocessing
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.alignment import alignment_errors
from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.checkpoints import write_atomically
from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import perplexity
from annotated_transformer.experiments import (
    EDGES,
    ToyTask,
    exactly_right,
    share_by_length,
    train_briefly,
)
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.luong import Luong, LuongConfig
from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from annotated_transformer.training import Trainer, endless_batches

RECORDS = Path(__file__).resolve().parent.parent / "book" / "records"
COMMAND = "make records"
HERE = {
    "command": COMMAND,
    "python": platform.python_version(),
    "torch": torch.__version__.split("+")[0],
    "machine": f"{platform.machine()}, one thread a run",
}
STEPS = 2000
RATES = (2e-3, 4e-3, 8e-3)  # tried for every model, with seed 0
SEEDS = (0, 1, 2)
BUDGETS = ((500, 128), (1000, 128), (2000, 128), (4000, 128), (8000, 128))  # steps, hidden_dim
WIDTHS = ((2000, 32), (2000, 64), (2000, 256))
Row = dict[str, Any]

MODELS: dict[str, tuple[Any, Any, dict[str, str]]] = {
    "seq2seq, RNN": (Seq2Seq, RecurrentConfig, {"cell": "rnn"}),
    "seq2seq, LSTM": (Seq2Seq, RecurrentConfig, {"cell": "lstm"}),
    "seq2seq, GRU": (Seq2Seq, RecurrentConfig, {"cell": "gru"}),
    "Bahdanau": (Bahdanau, RecurrentConfig, {}),
    "Luong, dot": (Luong, LuongConfig, {"score": "dot"}),
    "Luong, general": (Luong, LuongConfig, {"score": "general"}),
    "Luong, concat": (Luong, LuongConfig, {"score": "concat"}),
}
BINS = [f"{low}-{high - 1}" for low, high in pairwise(EDGES)]


@cache
def task() -> ToyTask:
    """Make the corpus once in each process."""
    return ToyTask.make()


def build(name: str, seed: int = 0, **sizes: int) -> Any:
    """Return an untrained model of Part I, in float64."""
    model, config, choices = MODELS[name]
    return task().build(model, config, seed, **choices, **sizes)


def operations(model: Any, length: int = 12) -> int:
    """Count the multiplications and additions in the matrix products of one forward pass."""
    tokens = torch.full((1, length), 5)
    with FlopCounterMode(display=False) as counter:
        model(tokens, tokens)
    return int(counter.get_total_flops())


def train_and_measure(
    name: str, rate: float, seed: int, steps: int = STEPS, hidden_dim: int = 128
) -> Row:
    """Train one model of Part I and measure everything that its table tells."""
    torch.set_num_threads(1)
    model = build(name, seed, hidden_dim=hidden_dim)
    train_briefly(model, task().examples("train"), steps, rate, seed)
    test = task().examples("test")
    right = exactly_right(model, test)
    gold = [pair.alignment for pair in task().pairs["test"]]
    errors = alignment_errors(model, test, gold)
    return {
        "model": name,
        "rate": rate,
        "seed": seed,
        "steps": steps,
        "hidden_dim": hidden_dim,
        "parameters": sum(p.numel() for p in model.parameters()),
        "operations": operations(model),
        "val_perplexity": round(perplexity(model, task().examples("val")), 4),
        "exact": sum(right) / len(right),
        **{b: round(s, 4) for b, s in zip(BINS, share_by_length(right, test), strict=True)},
        "longer": sum(exactly_right(model, longer := task().examples("longer"))) / len(longer),
        "aer": round(errors["attention"], 4) if errors else "",
    }


def best_rate(rows: Iterable[Row], name: str) -> float:
    """Return the rate with the lowest validation perplexity among the trials of a model."""
    trials = [row for row in rows if row["model"] == name and int(row["seed"]) == SEEDS[0]]
    return float(min(trials, key=lambda row: float(row["val_perplexity"]))["rate"])


def time_steps(name: str, repeats: int = 20) -> Row:
    """Time one training step of a model against one of the GRU, in turns."""
    torch.set_num_threads(1)
    batches = endless_batches(task().examples("train"), max_tokens=512, seed=0)
    trainers = [
        Trainer(build(other), smoothed_cross_entropy, lambda step: 1e-6)
        for other in (name, "seq2seq, GRU")
    ]
    seconds: list[list[float]] = [[], []]
    for _ in range(repeats):
        parts = [[next(batches)] for _ in range(5)]
        for trainer, times in zip(trainers, seconds, strict=True):
            start = time.process_time()
            for part in parts:
                trainer.update(part)
            times.append((time.process_time() - start) / len(parts))
    ours, gru = map(statistics.median, seconds)
    return {
        "model": name,
        "milliseconds": round(1000 * ours, 1),
        "ratio_to_gru": round(ours / gru, 2),
    }


def mark_chosen(rows: list[Row]) -> list[Row]:
    """Tell for every row whether its rate is the one that was chosen for its model."""
    best = {name: best_rate(rows, name) for name in {row["model"] for row in rows}}
    return [{**row, "chosen": float(row["rate"]) == best[row["model"]]} for row in rows]


def read(path: Path) -> list[Row]:
    """Return the rows of a table that has been begun."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[Row]) -> None:
    """Write a table, and beside it how it was made."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue())
    write_atomically(path.with_suffix(".json"), json.dumps(HERE, indent=2) + "\n")


def _call(work: tuple[Callable[..., Row], tuple[Any, ...]]) -> Row:
    function, arguments = work
    return function(*arguments)


def extend(
    path: Path,
    function: Callable[..., Row],
    tasks: list[tuple[Any, ...]],
    keys: list[str],
    finish: Callable[[list[Row]], list[Row]] = list,
    workers: int = 2,
) -> list[Row]:
    """Make the rows that are missing, and store each as soon as it is there.

    Raises:
        InputError: if the rows that are there were made with other versions.
    """
    rows = read(path)

    def key(row: Row) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in keys)

    done = set(map(key, rows))
    missing = [t for t in tasks if tuple(map(str, t)) not in done]
    if not missing:
        return rows
    if rows and (made := json.loads(path.with_suffix(".json").read_text())) != HERE:
        raise InputError(f"{path.name} was made with {made}, here is {HERE}: delete it first.")
    order = [tuple(map(str, t)) for t in tasks]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for row in pool.imap_unordered(_call, [(function, t) for t in missing]):
            rows.append(row)
            # Rows of other tasks come first, as they were; then these, in the order of the tasks.
            rows.sort(key=lambda row: order.index(key(row)) if key(row) in order else -1)
            write(path, finish(rows))
    return rows


def main(records: Path = RECORDS) -> int:
    """Make what is missing of all records."""
    path = records / "part1.csv"
    keys = ["model", "rate", "seed"]
    trials = [(name, rate, SEEDS[0]) for name in MODELS for rate in RATES]
    rows = extend(path, train_and_measure, trials, keys, mark_chosen)
    again = [(name, best_rate(rows, name), seed) for name in MODELS for seed in SEEDS[1:]]
    extend(path, train_and_measure, trials + again, keys, mark_chosen)
    gru = [("seq2seq, GRU", RATES[1], SEEDS[0], *budget) for budget in BUDGETS + WIDTHS]
    keys += ["steps", "hidden_dim"]
    extend(records / "seq2seq_budgets.csv", train_and_measure, gru, keys)
    # One at a time: nothing else may run beside what is timed.
    times = [(name,) for name in MODELS]
    extend(records / "part1_times.csv", time_steps, times, ["model"], workers=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The records of chapter 12: what a training step costs, and what more steps give."""

import math
from pathlib import Path
from typing import Any

import torch

import records_part1
import records_part2
from annotated_transformer.batches import Example
from annotated_transformer.evaluation import perplexity
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.schedule import linear_schedule
from annotated_transformer.training import Trainer, endless_batches
from annotated_transformer.transformer import Transformer, TransformerConfig
from record_runs import task
from record_tables import Row, extend

MODELS = ("seq2seq, GRU", "Luong, dot", "Bahdanau", "Transformer")
LENGTHS = {"all": (0, 99), "short": (4, 6), "long": (16, 18)}  # morphemes, from and to
BUDGETS = (500, 1000, 4000)  # steps of the Transformer; part2.csv has 2000
RATE = 4e-3  # the rate that was chosen in part2.csv


def build(name: str) -> Any:
    """Return an untrained model, in float64."""
    if name == "Transformer":
        return records_part2.build("sinusoidal")
    return records_part1.build(name)


def sentences(kind: str) -> list[Example]:
    """Return the training pairs of these lengths."""
    low, high = LENGTHS[kind]
    return [pair for pair in task().examples("train") if low <= len(pair[1]) <= high]


def time_steps(name: str, kind: str, repeats: int = 12) -> Row:
    """Time training steps of a model and of the GRU, in turns, on batches of 512 positions."""
    measured = records_part1.time_against_gru(build, name, sentences(kind), repeats, steps=4)
    return {"model": name, "sentences": kind, **measured}


def train_for(steps: int) -> Row:
    """Train the Transformer of Part II, with seed 0, for so many steps."""
    row = records_part2.train_and_measure("sinusoidal", RATE, 0, steps)
    return {**row, "model": "Transformer"}


def curve_at(rate: float, steps: int = 200) -> Row:
    """Return the learning curve of the small model of chapter 12, at a rate that is too high.

    At such a rate, training enlarges the rounding of other processors until the curves differ.
    """
    torch.set_num_threads(1)
    sizes = {"d_model": 32, "num_layers": 1, "num_heads": 2, "d_ff": 64, "max_length": 128}
    choices = {**sizes, "dropout": 0.0, "norm": "pre"}
    model = task().build(Transformer, TransformerConfig.tiny, **choices)
    trainer = Trainer(model, smoothed_cross_entropy, linear_schedule(rate, steps), eps=1e-6)
    batches = endless_batches(task().examples("train"), 256, seed=0)
    val = task().examples("val")[:100]
    losses, dots = [], []
    for step in range(1, steps + 1):
        losses.append(trainer.update([next(batches)])[0])
        if step % 20 == 0:
            dots.append(math.log(perplexity(model, val)))
    curves = {"training": losses, "validation": dots}
    return {"rate": rate} | {
        name: " ".join(f"{loss:.2f}" for loss in curve) for name, curve in curves.items()
    }


def make(records: Path) -> None:
    """Make what is missing of the records of chapter 12, one at a time."""
    times = [(name, kind) for name in MODELS for kind in LENGTHS]
    keys = ["model", "sentences"]
    extend(records / "training_times.csv", time_steps, times, keys, workers=1)
    budgets = [(steps,) for steps in BUDGETS]
    extend(records / "transformer_budgets.csv", train_for, budgets, ["steps"], workers=1)
    extend(records / "too_high.csv", curve_at, [(0.16,)], ["rate"], workers=1)

"""The records of training: what a training step costs, and what more steps give."""

import math
from typing import Any

import torch

from annotated_transformer.evaluation import perplexity
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.text.examples import Example
from annotated_transformer.training import Trainer, endless_batches, linear_schedule, paper_adam
from annotated_transformer.transformer import Transformer, TransformerConfig
from records.recurrent import build_recurrent, time_against_gru
from records.tables import Row, Tables
from records.toy_training import RATES, task
from records.transformers import build_transformer, train_transformer
from records.trials import SEEDS, tuned_rate

MODELS = ("seq2seq, GRU", "Luong, dot", "Bahdanau", "Transformer")
LENGTHS = {"all": (0, 99), "short": (4, 6), "long": (16, 18)}  # morphemes, from and to
TOO_HIGH = 0.16  # twenty times a good rate
BUDGETS = (500, 1000)  # steps of the Transformer; `transformers` has 2000


def build_any(name: str) -> Any:
    """Build an untrained model, in float64."""
    if name == "Transformer":
        return build_transformer("sinusoidal")
    return build_recurrent(name)


def sentences(kind: str) -> list[Example]:
    """Return the training pairs of these lengths."""
    low, high = LENGTHS[kind]
    return [pair for pair in task().examples("train") if low <= len(pair[1]) <= high]


def time_by_length(name: str, kind: str, repeats: int = 12) -> Row:
    """Time training steps of a model and of the GRU, in turns, on batches of 512 positions."""
    measured = time_against_gru(build_any, name, sentences(kind), repeats, steps=4)
    return {"model": name, "sentences": kind, **measured}


def curves(rate: float, warmup: int, seed: int, steps: int = 200) -> tuple[list[float], ...]:
    """Train a small Transformer; its losses of every step, and every 20 those of validation.

    At a rate that is too high, training enlarges the rounding of other processors until the curves
    differ.
    """
    torch.set_num_threads(1)
    sizes = {"d_model": 32, "num_layers": 1, "num_heads": 2, "d_ff": 64, "max_length": 128}
    choices = {**sizes, "dropout": 0.0, "norm_position": "pre"}
    model = task().build(Transformer, TransformerConfig.tiny, seed, **choices)
    schedule, adam = linear_schedule(rate, steps, warmup), paper_adam(model, eps=1e-6)
    trainer = Trainer(model, smoothed_cross_entropy, schedule, optimizer=adam)
    batches = endless_batches(task().examples("train"), 256, seed)
    val = task().examples("val")[:100]
    losses, dots = [], []
    for step in range(1, steps + 1):
        losses.append(trainer.update([next(batches)])[0])
        if step % 20 == 0:
            dots.append(math.log(perplexity(model, val)))
    return losses, dots


def curve_at(rate: float) -> Row:
    """The learning curve at this rate, without a warm-up."""
    both = zip(("training", "validation"), curves(rate, warmup=0, seed=0), strict=True)
    return {"rate": rate} | {
        name: " ".join(f"{loss:.2f}" for loss in curve) for name, curve in both
    }


def end_at(rate: float, warmup: int, seed: int) -> Row:
    """The validation loss after 200 steps at this rate."""
    _, dots = curves(rate, warmup, seed)
    return {"rate": rate, "warmup": warmup, "seed": seed, "validation": round(dots[-1], 3)}


def make_training_times(tables: Tables) -> None:
    """The time of a training step of four models, on short and on long sentences."""
    # One at a time: nothing else may run beside what is timed.
    times = [(name, kind) for name in MODELS for kind in LENGTHS]
    tables.extend("training_times", time_by_length, times, ["model", "sentences"], workers=1)


def make_transformer_budgets(tables: Tables) -> None:
    """The Transformer at its best rate, with fewer steps.

    What would refute "it was still learning after 1,000 steps": 2,000 that bring no more (they
    bring more), or another learning rate for the shorter runs, since theirs was chosen for 2,000
    (`transformer_budgets_rates`: at half of it no gain is seen, at twice it they hardly learn).
    """
    name = "sinusoidal"
    rate = tuned_rate(tables, "transformers", train_transformer, name, RATES)
    budgets = [(name, rate, seed, steps) for steps in BUDGETS for seed in SEEDS]
    keys = ["model", "rate", "seed", "steps"]
    tables.extend("transformer_budgets", train_transformer, budgets, keys)


def make_transformer_budgets_rates(tables: Tables) -> None:
    """The Transformer with fewer steps, at half and at twice the rate that is best for 2,000.

    It is the other method for "it was still learning": a shorter training may ask for another rate.
    """
    name = "sinusoidal"
    best = tuned_rate(tables, "transformers", train_transformer, name, RATES)
    budgets = [
        (name, rate, seed, steps)
        for rate in (best / 2, best * 2)
        for steps in BUDGETS
        for seed in SEEDS
    ]
    keys = ["model", "rate", "seed", "steps"]
    tables.extend("transformer_budgets_rates", train_transformer, budgets, keys)


def make_too_high(tables: Tables) -> None:
    """The learning curve at a rate that is too high.

    What would refute "the rate is too high": that it learns as well with other seeds or a warm-up.
    They were run (`too_high_seeds`): it does not.
    """
    tables.extend("too_high", curve_at, [(TOO_HIGH,)], ["rate"], workers=1)


def make_too_high_seeds(tables: Tables) -> None:
    """The loss after 200 steps at a good rate and at twenty times that, with warm-up and without.

    It is the other method for "the rate is too high": a warm-up, which makes high rates usable.
    """
    runs = [
        (rate, warmup, seed)
        for rate in (TOO_HIGH / 20, TOO_HIGH)
        for warmup in (0, 20)
        for seed in SEEDS
    ]
    tables.extend("too_high_seeds", end_at, runs, ["rate", "warmup", "seed"])

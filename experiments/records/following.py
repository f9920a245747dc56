"""The records of models that learn to follow requests: pretrained or not, with many or few."""

import math
import random
from functools import cache

import torch

from annotated_transformer.language_model import LanguageModel
from annotated_transformer.toy import Pair
from records.fitting import fit
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook.following import (
    KEPT,
    TASKS,
    Example,
    Following,
    answer,
    answers,
    loss_of,
)

PRETRAINING, STEPS, WARMUP, BATCH, PRETRAINING_RATE = 1500, 300, 20, 32, 4e-3
RATES, NUMBERS, TESTS = (1e-3, 2e-3, 4e-3), {"few": 200, "many": 4000}, 100
MODELS = [
    *(f"{start} few" for start in ("scratch", "longer", "apart", "pretrained", "everything")),
    "scratch many", "pretrained many",
]  # fmt: skip


def train(
    model: LanguageModel, examples: list[Example], steps: int, rate: float, seed: int
) -> None:
    """Train on batches that are drawn with replacement."""
    torch.set_num_threads(1)
    draw = random.Random(seed)
    fit(model, rate, steps, WARMUP, lambda _: loss_of(model, draw.choices(examples, k=BATCH)))


@cache
def pretrained(seed: int, apart: bool = False) -> dict[str, torch.Tensor]:
    """Train a model on plain texts, with translations beside each other or apart."""
    model = Following.make().build(seed)
    texts = Following.make().plain("train", seed, apart)
    train(model, texts, PRETRAINING, PRETRAINING_RATE, seed)
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def share_right(model: LanguageModel, name: str, asked: list[Pair]) -> float:
    """Compute the share of requests for one task that are answered exactly right."""
    task = Following.make()
    found = answers(model, [task.prompt(name, pair) for pair in asked])
    hits = [f == task.ids(answer(name, p)) for f, p in zip(found, asked, strict=True)]
    return sum(hits) / len(hits)


def measure(model: LanguageModel) -> Row:
    """Measure the loss of answers, each task, the kept pairs of task and word, and plain texts."""
    task, model = Following.make(), model.eval()
    val = [task.example(name, pair) for pair in task.pairs["val"] for name in TASKS]
    kept = [pair for pair in task.pairs["test"] if set(pair.src) & set(KEPT)]
    others = [pair for pair in task.pairs["test"] if pair not in kept]
    right = {}
    for name, asked in [*((name, others) for name in TASKS), ("kept", kept)]:
        what = "reverse" if name == "kept" else name
        right[name] = round(share_right(model, what, asked[:TESTS]), 4)
    with torch.no_grad():
        loss, plain = loss_of(model, val).item(), loss_of(model, task.plain("val")).item()
    mean = sum(right[name] for name in TASKS) / len(TASKS)
    losses = {"val_loss": round(loss, 4), "plain": round(math.exp(plain), 3)}
    return losses | {"right": round(mean, 4)} | right


def train_following(model: str, rate: float, seed: int) -> Row:
    """Fine-tune one model on requests, from its start."""
    start, number = model.split()
    task, longer = Following.make(), start == "longer"
    built = task.build(seed)
    if start in ("pretrained", "apart", "everything"):
        built.load_state_dict(pretrained(seed, start == "apart"))
    before = measure(built)["plain"] if start in ("pretrained", "everything") else ""
    examples = task.mixture(NUMBERS[number], seed, start == "everything")
    train(built, examples, STEPS + longer * PRETRAINING, rate, seed)
    row = {"model": model, "rate": rate, "seed": seed, **measure(built)}
    return row | {"plain_before": before}


def make_following(tables: Tables) -> None:
    """Models that follow requests: from scratch and pretrained, with 200 and 4,000 examples.

    What would refute "pretraining helps because its texts contain translations": as much training
    on texts in which no sentence is beside its translation (apart), or, by another method, those
    steps spent on the requests, from scratch (longer).
    """
    tune(tables, "following", train_following, MODELS, RATES, "val_loss")

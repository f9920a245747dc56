"""The records of models that learn to follow requests: pretrained or not, with many or few."""

import math
import random
from functools import cache

import torch

from annotated_transformer.language_model import LanguageModel
from annotated_transformer.lora import add_lora
from annotated_transformer.toy import Pair
from records.fitting import fit
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook.following import (
    ASSISTANT,
    KEPT,
    TASKS,
    USER,
    Example,
    Following,
    answer,
    answers,
    example,
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


def measure(model: LanguageModel) -> Row:
    """Measure the loss of answers, each task, the kept pairs of task and word, and plain texts."""
    task, model = Following.make(), model.eval()
    val = [task.example(name, pair) for pair in task.pairs["val"] for name in TASKS]
    kept = [pair for pair in task.pairs["test"] if set(pair.src) & set(KEPT)]
    others = [pair for pair in task.pairs["test"] if pair not in kept]
    right = {}
    for name, asked in [*((name, others) for name in TASKS), ("kept", kept)]:
        what = "reverse" if name == "kept" else name
        asked = asked[:TESTS]
        found = answers(model, [task.prompt(what, pair) for pair in asked])
        hits = [f == task.ids(answer(what, p)) for f, p in zip(found, asked, strict=True)]
        right[name] = round(sum(hits) / len(hits), 4)
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


LORA = {"full": 0, "rank 1": 1, "rank 2": 2, "rank 4": 4, "rank 8": 8}
LORA_RATES, NEW = (4e-3, 8e-3, 16e-3), 200


def twice(pair: Pair) -> tuple[list[int], list[int]]:
    """Ask for two tasks in a row, the translation in reverse: the prompt and the answer."""
    task = Following.make()
    return task.ids([USER, "reverse", "translate", *pair.src, ASSISTANT]), task.ids(pair.tgt[::-1])


@cache
def following(seed: int) -> dict[str, torch.Tensor]:
    """Train a model that follows requests for one task at a time; return its weights."""
    model = Following.make().build(seed)
    model.load_state_dict(pretrained(seed))
    train(model, Following.make().mixture(4000, seed), 2 * STEPS, 2e-3, seed)
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def train_lora(model: str, rate: float, seed: int) -> Row:
    """Teach a model that follows one task two in a row, by LoRA of a rank or in full."""
    torch.set_num_threads(1)
    task, rank = Following.make(), LORA[model]
    built = task.build(seed)
    built.load_state_dict(following(seed))
    before = measure(built)["right"]
    if rank:
        built.requires_grad_(False)
        torch.manual_seed(seed)
        add_lora(built.decoder, rank)
    new = {split: [twice(pair) for pair in task.pairs[split][:NEW]] for split in ("train", "val")}
    examples = {split: [example(*one) for one in new[split]] for split in new}
    train(built, examples["train"], STEPS, rate, seed)
    hits = [f == a for f, (_, a) in zip(
        answers(built, [prompt for prompt, _ in new["val"]]), new["val"], strict=True
    )]  # fmt: skip
    with torch.no_grad():
        loss = loss_of(built, examples["val"]).item()
    trained = sum(p.numel() for p in built.parameters() if p.requires_grad)
    row = {"model": model, "rate": rate, "seed": seed, "trained": trained}
    right = round(sum(hits) / len(hits), 4)
    after = measure(built)["right"]
    return row | {"val_loss": round(loss, 4), "new": right, "before": before, "after": after}


def make_lora(tables: Tables) -> None:
    """Models that learn a new kind of request by LoRA, by rank, and by all their parameters.

    What would refute "a low rank is enough": more training, each side at its best rate, and a rank
    of 1 beside ranks up to 8.
    """
    tune(tables, "lora", train_lora, LORA, LORA_RATES, "val_loss")

"""The record of what a model forgets while it learns to follow, and of what it could do before."""

import math
import random

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.language_model import LanguageModel
from annotated_transformer.tokens import EOS
from annotated_transformer.toy import Pair
from records.fitting import fit
from records.following import BATCH, WARMUP, pretrained, share_right, train
from records.tables import Row, Tables, with_seeds
from transformer_workbook.notebook.following import (
    Example,
    Following,
    answers,
    batch_of,
    loss_of,
)

RATE, SEEDS = 1e-3, 5
EPOCHS = {"1 epoch": 6, "3 epochs": 19, "10 epochs": 62, "48 epochs": 300}
MODELS = ["before", *EPOCHS, "4,000 examples", "eight plain texts", "apart", "from scratch"]


def own_form(model: LanguageModel, asked: list[Pair]) -> float:
    """The share of translations that are right after a sentence and its full stop."""
    task = Following.make()
    found = answers(model, [task.ids([*pair.src, "."]) for pair in asked])
    stop = task.ids(["."])[0]
    cut = [row[: row.index(stop)] if stop in row else row for row in found]
    return sum(a == task.ids(p.tgt) for a, p in zip(cut, asked, strict=True)) / len(asked)


def tokens_right(model: LanguageModel, asked: list[Pair]) -> float:
    """The share of tokens of a translation that are most probable after those before them."""
    read, labels = batch_of([Following.make().example("translate", pair) for pair in asked])
    with torch.no_grad():
        hits = model(read).argmax(-1) == labels
    return hits[labels != 0].double().mean().item()


def nats(model: LanguageModel, texts: list[Example]) -> tuple[Tensor, Tensor]:
    """The loss of each label of plain texts, and whether it is a full stop or the end."""
    read, labels = batch_of(texts)
    with torch.no_grad():
        loss = F.cross_entropy(model(read).mT, labels, reduction="none")
    ends = (labels == Following.make().ids(["."])[0]) | (labels == EOS)
    return loss[labels != 0], ends[labels != 0]


def train_forgetting(model: str, seed: int) -> Row:
    """Fine-tune one model on requests, as the record of following at its best rate."""
    torch.set_num_threads(1)
    task, built = Following.make(), Following.make().build(seed)
    if model != "from scratch":
        built.load_state_dict(pretrained(seed, model == "apart"))
    texts, kept = task.plain("train", seed), task.plain("val")
    before, ends = nats(built, kept)
    number, draw = 4000 if model == "4,000 examples" else 200, random.Random(seed)
    examples = task.mixture(number, seed)
    if model.startswith("eight"):

        def loss_at(_: int) -> Tensor:
            loss: Tensor = loss_of(
                built, draw.choices(examples, k=BATCH) + draw.choices(texts, k=8)
            )
            return loss

        fit(built, RATE, 300, WARMUP, loss_at)
    elif model not in ("before", "from scratch"):
        train(built, examples, EPOCHS.get(model, 300), RATE, seed)
    elif model == "from scratch":
        train(built, examples, 300, 2e-3, seed)
    after, _ = nats(built, kept)
    rise, asked = after - before, task.pairs["test"][:100]
    row: Row = {"model": model, "seed": seed}
    row["translate"] = round(share_right(built, "translate", asked), 4)
    row["own_form"] = round(own_form(built, asked), 4)
    row["tokens"] = round(tokens_right(built, asked), 4)
    row["plain"] = round(math.exp(after.mean().item()), 3)
    share = rise[ends].sum() / rise.sum() if rise.sum() > 0 else torch.tensor(math.nan)
    row["at_ends"] = round(share.item(), 4) if model in (*EPOCHS, "4,000 examples") else ""
    row |= {"plain_20": "", "plain_60": ""}
    if model in ("48 epochs", "4,000 examples", "from scratch"):
        start = {name: weight.clone() for name, weight in built.state_dict().items()}
        for steps in (20, 60):
            again = task.build(seed)
            if model != "from scratch":
                again.load_state_dict(start)
            train(again, texts, steps, RATE, seed)
            row[f"plain_{steps}"] = round(math.exp(nats(again, kept)[0].mean().item()), 3)
    return row


def make_forgetting(tables: Tables) -> None:
    """What fine-tuning on requests costs: after 1 to 48 epochs, at the ends of sentences, later.

    It is the refuter of "the model forgets": where its loss rises, how soon it is back, whether
    plain texts in each batch prevent it, and translations asked for in the model's own form.
    """
    keys, tasks = ["model", "seed"], with_seeds(dict.fromkeys(MODELS, SEEDS))
    by_seed = sorted(tasks, key=lambda task: task[1])
    tables.extend("forgetting", train_forgetting, by_seed, keys)

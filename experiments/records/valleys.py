"""The record of lesson 27's own law: fifteen small models of the Python manual predict a sixteenth.

Before the runs: the law of a seed counts if it misses the run by at most 0.1 nats in 19 of 20; a
rival of it fails if it misses by more than 0.1 on average.
"""

import math
import re
from functools import cache
from pydoc_data.topics import topics

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer import toy
from records.fitting import fit_one_cycle
from records.tables import Row, Tables, with_seeds

BUDGETS, NEXT, WIDTHS = torch.tensor([2e8, 6e8, 2e9]), 2e10, (8, 16, 32, 64, 128)
SPLITS = {"all into size": 667, "about twice the size": 400}  # by width, of the last budget
COUNTED, SAID = ("best", "size"), ("law", "law_of_two", "line_of_logs", "line")
SIGNS = " abcdefghijklmnopqrstuvwxyz.,()_"


@cache
def windows(text: str) -> tuple[Tensor, Tensor]:
    """Cut a text into windows of nine characters: (train, 9), and those kept aside, (held, 9)."""
    parts = (
        toy.toy_stories(4000) if text == "stories" else [topics[name] for name in sorted(topics)]
    )
    held = parts[5::10]
    found = []
    for kept in ([part for part in parts if part not in held], held):
        clean = re.sub("[^a-z.,()_]+", " ", " ".join(kept).lower())
        found.append(torch.tensor([SIGNS.index(sign) for sign in clean]).unfold(0, 9, 1))
    return found[0], found[1]


def build(width: int) -> nn.Sequential:
    """Build a network that reads eight characters and gives the logits of the ninth."""
    hidden = nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 32)
    return nn.Sequential(nn.Embedding(32, 8), nn.Flatten(), *hidden)


def size(width: int) -> int:
    """Count the parameters of a model."""
    return sum(weight.numel() for weight in build(width).parameters())


def loss_after(width: int, C: float, text: str) -> float:
    """Train a model with C FLOPs; its loss on what was kept aside, nats a character."""
    model, (train, held) = build(width), windows(text)
    tokens = int(C / 6 / size(width))
    rounds = [torch.randperm(len(train)) for _ in range(1 + tokens // len(train))]
    batches = torch.cat(rounds)[:tokens].split(64)

    def loss_at(step: int) -> Tensor:
        rows = train[batches[step]]
        return F.cross_entropy(model(rows[:, :8]), rows[:, 8])

    fit_one_cycle(model, 0.02, len(batches), loss_at)
    with torch.no_grad():
        return F.cross_entropy(model(held[:, :8]), held[:, 8]).item()


def line(x: Tensor, y: Tensor, at: float) -> float:
    """Extend the straight line of least squares through points."""
    slope = ((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum()
    return float(y.mean() + slope * (at - x.mean()))


def train_valleys(model: str, seed: int) -> Row:
    """Train fifteen models, let laws predict the next budget's best, and train that one."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(seed)
    row: Row = {"model": model, "seed": seed}
    if model in SPLITS:
        row |= dict.fromkeys(("width", *(f"{what}_{i}" for what in COUNTED for i in (1, 2, 3))), "")
        row |= dict.fromkeys(SAID, "") | {"width": SPLITS[model]}
        return row | {"run": round(loss_after(SPLITS[model], NEXT, "manual"), 4)}
    losses = torch.tensor([[loss_after(w, C, model) for w in WIDTHS] for C in BUDGETS.tolist()])
    best, which = losses.min(dim=1)
    sizes = torch.tensor([size(w) for w in WIDTHS]).float()[which]
    logs, at = BUDGETS.log(), math.log(NEXT)
    row["width"] = round((math.exp(line(logs, sizes.log(), at)) - 288) / 97)  # N is 97 width + 288
    row |= {f"best_{i}": round(loss.item(), 4) for i, loss in enumerate(best, 1)}
    row |= {f"size_{i}": int(n) for i, n in enumerate(sizes, 1)}
    laws = (
        math.exp(line(logs, best.log(), at)),
        math.exp(line(logs[1:], best[1:].log(), at)),
        line(logs, best, at),
        line(BUDGETS[1:], best[1:], NEXT),
    )
    row |= {name: round(loss, 4) for name, loss in zip(SAID, laws, strict=True)}
    return row | {"run": round(loss_after(row["width"], NEXT, model), 4)}


def make_valleys(tables: Tables) -> None:
    """Fifteen models of the Python manual, three budgets, and the run of ten times the compute.

    It is the refuter of lesson 27: straight lines instead of the law, the same budget spent on size
    alone or on about twice the size, and another text.
    """
    seeds = {"manual": 20, **dict.fromkeys(SPLITS, 5), "stories": 5}
    tables.extend("valleys", train_valleys, with_seeds(seeds), ["model", "seed"])

"""The record of lesson 27's own law: fifteen small models of stories predict a sixteenth.

Before the runs: the law of a seed counts if it misses the run by at most 0.1 nats in 19 of 20; a
rival of it fails if it misses by more than 0.2 on average.
"""

import math
import re
from functools import cache
from pydoc_data.topics import topics

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer import toy
from records.fitting import fit_one_cycle
from records.tables import Row, Tables, with_seeds

BUDGETS, NEXT, WIDTHS = torch.tensor([2e8, 6e8, 2e9]), 2e10, (8, 16, 32, 64, 128)
SPLITS = {"all into size": 640}  # by width: ten times the last best size
PEAKS = {"half the rate": 0.01, "twice the rate": 0.04}  # of the others 0.02
SAID = ("law", "law_of_lowest", "line_of_logs", "law_further", "exponent", "exponent_of_lowest")
SIGNS = " abcdefghijklmnopqrstuvwxyz.?"


@cache
def windows(text: str) -> tuple[Tensor, Tensor]:
    """Cut a text into windows of nine characters: (train, 9), and those kept aside, (held, 9)."""
    manual = [topics[name].lower() for name in sorted(topics)] if text == "manual" else []
    parts = manual or toy.toy_stories(4000)
    held = set(range(5, len(parts), 10))
    found = []
    for kept in (set(range(len(parts))) - held, held):
        clean = re.sub(f"[^{re.escape(SIGNS)}]+", " ", " ".join(parts[i] for i in sorted(kept)))
        found.append(torch.tensor([SIGNS.index(sign) for sign in clean]).unfold(0, 9, 1))
    return found[0], found[1]


def build(width: int) -> nn.Sequential:
    """Build a network that reads eight characters and gives the logits of the ninth."""
    hidden = nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 29)
    return nn.Sequential(nn.Embedding(29, 8), nn.Flatten(), *hidden)


def size(width: int) -> int:
    """Count the parameters of a model, without its embedding, which multiplies nothing."""
    return 94 * width + 29


def loss_after(width: int, C: float, model: str) -> float:
    """Train a model with C FLOPs; its loss on what was kept aside, nats a character."""
    net, (train, held) = build(width), windows(model)
    tokens = int(C / 6 / size(width))
    rounds = [torch.randperm(len(train)) for _ in range(1 + tokens // len(train))]
    batches = torch.cat(rounds)[:tokens].split(64)

    def loss_at(step: int) -> Tensor:
        rows = train[batches[step]]
        return F.cross_entropy(net(rows[:, :8]), rows[:, 8])

    fit_one_cycle(net, PEAKS.get(model, 0.02), len(batches), loss_at)
    with torch.no_grad():
        return F.cross_entropy(net(held[:, :8]), held[:, 8]).item()


def line(y: np.ndarray, C: float = NEXT) -> float:
    """Extend the straight line of least squares over the logarithms of the budgets."""
    return float(np.polyval(np.polyfit(BUDGETS.log(), y, 1), math.log(C)))


def slope(y: np.ndarray) -> float:
    """Return the slope of that line."""
    return float(np.polyfit(BUDGETS.log(), y, 1)[0])


def train_valleys(model: str, seed: int) -> Row:
    """Train fifteen models, let laws predict the next budget's best, and train that one."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(seed)
    row: Row = {"model": model, "seed": seed}
    if model in SPLITS:
        row |= dict.fromkeys(("width", *(f"best_{i}" for i in (1, 2, 3)), *SAID), "")
        run = loss_after(SPLITS[model], NEXT, model)
        return row | {"width": SPLITS[model], "run": round(run, 4)}
    losses = np.array([[loss_after(w, C, model) for w in WIDTHS] for C in BUDGETS.tolist()])
    logs = np.log([size(w) for w in WIDTHS])
    p, q, r = np.polyfit(logs, losses.T, 2)  # a parabola through each valley
    sizes, best = -q / (2 * p), r - q * q / (4 * p)  # its vertex
    row["width"] = round((math.exp(line(sizes)) - 29) / 94)
    row |= {f"best_{i}": round(loss, 4) for i, loss in enumerate(best, 1)}
    laws = (
        math.exp(line(np.log(best))),
        math.exp(line(np.log(losses.min(axis=1)))),
        line(best),
        math.exp(line(np.log(best), 10 * NEXT)),
        slope(sizes),
        slope(logs[losses.argmin(axis=1)]),
    )
    row |= {name: round(loss, 4) for name, loss in zip(SAID, laws, strict=True)}
    return row | {"run": round(loss_after(row["width"], NEXT, model), 4)}


def make_valleys(tables: Tables) -> None:
    """Fifteen models of stories, three budgets, and the run of ten times the compute.

    It is the refuter of lesson 27: a straight line over the logarithm of the compute instead of the
    law, the same budget spent on size alone, other learning rates, and another text.
    """
    seeds = {"stories": 20, **dict.fromkeys((*SPLITS, *PEAKS, "manual"), 5)}
    tables.extend("valleys", train_valleys, with_seeds(seeds), ["model", "seed"])

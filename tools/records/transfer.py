"""The records of transfer: a language model's best learning rate by its width, with and without μP.

The text and the measure are those of ``optimisers``.
"""

import math
from typing import Any

import torch
from torch.nn import functional as F

from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.transfer import scale_logits, width_groups
from records.optimisers import SYMBOLS, TESTS, TEXTS, TIME, excess, texts
from records.tables import Row, Tables, read
from records.trials import SEEDS, TRIAL, best_rate, tried_rates
from transformer_workbook.notebook import drawn_in_float64

STEPS, WARMUP, LONGER = 300, 30, 150
RATES = [0.0025 * 2**k for k in range(8)]
NARROW, WIDE = "standard 16", ("standard 128", "μP 128")
MODELS = (NARROW, *(f"{kind} {width}" for width in (32, 64, 128) for kind in ("standard", "μP")))
REFUTERS = ("standard, longer warm-up 128", "μP, logits not scaled 128")
"""A kind and a width; at width 16, which is the base, both kinds are the same."""


def config(width: int) -> LanguageModelConfig:
    """Configure a model of one layer, whose heads have 8 dimensions at any width."""
    return LanguageModelConfig(
        SYMBOLS, SYMBOLS, d_model=width, num_layers=1, num_heads=width // 8, d_ff=4 * width,
        norm_position="pre", dropout=0.0, has_source=False, max_length=TIME,
    )  # fmt: skip


def train_at(name: str, rate: float, seed: int) -> Row:
    """Train one language model on fresh texts; its loss on others."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    kind, width = name.rsplit(maxsplit=1)
    with drawn_in_float64():
        model = LanguageModel(config(int(width))).float()
    groups: list[dict[str, Any]] = [{"params": list(model.parameters()), "lr": rate}]
    if kind.startswith("μP"):
        groups = width_groups(model, config(16), rate)
    if kind == "μP":
        scale_logits(model, config(16))
    adam, warmup = torch.optim.Adam(groups), LONGER if "longer" in kind else WARMUP
    schedule = torch.optim.lr_scheduler.LambdaLR(
        adam, lambda t: min((t + 1) / warmup, (1 + math.cos(math.pi * t / STEPS)) / 2)
    )
    for step in range(STEPS):
        text = texts(TEXTS, torch.Generator().manual_seed(10_000 * seed + step))
        loss: Any = F.cross_entropy(model(text)[:, 1:-1].mT, text[:, 2:])
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    loss_above = excess(model, texts(TESTS, torch.Generator().manual_seed(-1)))
    return {"model": name, "rate": rate, "seed": seed, "val_loss": f"{loss_above:.4f}"}


def make_transfer(tables: Tables) -> None:
    """A language model's loss above the entropy of its text, by width, rate and rule.

    What would refute "the rate has to change because each step moves a wide model further": a
    warm-up five times as long, which spares it the first steps. What would refute "the rule has to
    look at each parameter": the rate of all of them divided by the width.
    """
    keys = ["model", "rate", "seed"]
    trials = [(name, rate, TRIAL) for name in MODELS for rate in RATES]
    rows = tables.extend("transfer", train_at, trials, keys)
    narrow = best_rate(rows, NARROW, "val_loss")
    runs = [(name, narrow, seed) for seed in SEEDS for name in REFUTERS]
    for name in (NARROW, *WIDE):
        best = best_rate(rows, name, "val_loss")
        near = {rate for rate in tried_rates(rows, name) if best / 4 <= rate <= best * 4}
        near |= {narrow, narrow / 8} if name == WIDE[0] else {narrow}
        runs += [(name, rate, seed) for seed in SEEDS for rate in sorted(near)]
    tables.extend("transfer", train_at, trials + runs, keys)


def find_best(name: str, seed: int) -> Row:
    """Find the lowest point of a parabola through the best rate and its two neighbours."""
    rows = [r for r in read(Tables().path("transfer")) if (r["model"], r["seed"]) == (name, f"{seed}")]
    losses = {float(row["rate"]): float(row["val_loss"]) for row in rows}
    best = min(losses, key=losses.__getitem__)
    below, at, above = (losses[rate] for rate in (best / 2, best, best * 2))
    shift = (below - above) / (below - 2 * at + above) / 2
    return {"model": name, "seed": seed, "doublings": f"{math.log2(1000 * best) + shift:.3f}"}


def make_transfer_best(tables: Tables) -> None:
    """The best learning rate of each seed, as the number of doublings from 0.001.

    What would refute "with μP it stays where it is": an interval of the change that ...
    """
    make_transfer(tables)
    tasks = [(name, seed) for name in (NARROW, *WIDE) for seed in SEEDS]
    tables.extend("transfer_best", find_best, tasks, ["model", "seed"])

"""The records of transfer: a language model's best rate by its width, with and without μP."""

import math
from typing import Any

import torch
from torch.nn import functional as F

from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.transfer import scale_logits, width_groups
from records.fitting import cosine
from records.optimisers import SYMBOLS, TESTS, TEXTS, TIME, excess, texts
from records.tables import Row, Tables, read
from records.trials import SEEDS, TRIAL, best_rate, widened
from transformer_workbook.notebook import drawn_in_float64

STEPS, WARMUP, LONGER = 300, 30, 150
RATES = [0.0025 * 2**k for k in range(8)]
NARROW = "standard 16"
WIDE = ("standard 128", "standard, logits divided 128", "μP 128")
MODELS = (
    NARROW, *(f"{kind} {width}" for width in (32, 64) for kind in ("standard", "μP")), *WIDE
)  # fmt: skip
"""The models: a kind and a width. At 16, the width of the base, μP is the standard."""
PARTS = ("standard, longer warm-up 128", "μP, matrices alone 128", "μP, logits not scaled 128")


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
    if kind in {"μP", "standard, logits divided"}:
        scale_logits(model, config(16))
    if kind == "μP, matrices alone":
        groups = [group | {"lr": rate} for group in groups[1:]] + groups[:1]
    adam, warmup = torch.optim.Adam(groups), LONGER if "longer" in kind else WARMUP
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: cosine(step, STEPS, warmup))
    for step in range(STEPS):
        text = texts(TEXTS, torch.Generator().manual_seed(10_000 * seed + step))
        loss: Any = F.cross_entropy(model(text)[:, 1:-1].mT, text[:, 2:])
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    loss_above = excess(model, texts(TESTS, torch.Generator().manual_seed(-1)))
    return {"model": name, "rate": rate, "seed": seed, "val_loss": f"{loss_above:.4f}"}


def losses(rows: list[Row], name: str, seed: int) -> dict[float, float]:
    """Return the losses of a model with that seed, by rate."""
    mine = [row for row in rows if (row["model"], str(row["seed"])) == (name, str(seed))]
    return {float(row["rate"]): float(row["val_loss"]) for row in mine}


def make_transfer(tables: Tables) -> None:
    """A language model's loss above the entropy of its text, by width, rate and kind.

    What would refute "a wide model needs lower rates for some of its parameters": something simpler
    that is as good as μP, as the rate of all of them divided by the width, a warm-up of half the
    steps, or a part of the rule. Run: all are behind μP at the narrow model's rate. One rate with
    divided logits is not behind at a rate of its own, so μP's rates buy that the best one stays.
    """
    keys = ["model", "rate", "seed"]
    trials = [(name, rate, TRIAL) for name in MODELS for rate in RATES]
    rows = tables.extend("transfer", train_at, trials, keys)
    best = {name: best_rate(rows, name, "val_loss") for name in (NARROW, *WIDE)}
    at_narrow = {(name, best[NARROW], seed) for name in (*WIDE, *PARTS) for seed in SEEDS}
    grids = {(n, seed): [r / 2, r, r * 2] for n, r in best.items() for seed in SEEDS}
    while True:
        near = {(name, rate, seed) for (name, seed), grid in grids.items() for rate in grid}
        runs = sorted(at_narrow | near, key=lambda run: (run[2], *run))
        rows = tables.extend("transfer", train_at, trials + runs, keys)
        found = {key: min(grid, key=losses(rows, *key).__getitem__) for key, grid in grids.items()}
        wider = {key: widened(grid, found[key]) for key, grid in grids.items()}
        if wider == grids:
            break
        grids = wider


def find_best(name: str, seed: int) -> Row:
    """Find the lowest point of a parabola through the best rate and its two neighbours."""
    found = losses(read(Tables().path("transfer")), name, seed)
    best = min(found, key=found.__getitem__)
    below, at, above = (found[rate] for rate in (best / 2, best, best * 2))
    shift = (below - above) / (below - 2 * at + above) / 2
    return {"model": name, "seed": seed, "doublings": f"{math.log2(1000 * best) + shift:.3f}"}


def make_transfer_best(tables: Tables) -> None:
    """The best learning rate of each seed, as the number of doublings of 0.001.

    What would refute "a wide model needs a lower single rate": the narrow model's rate with a
    longer warm-up, as good as a lower one (`transfer`). Run: these two are equal to within 0.02
    nats, so the book says that the first steps do much of the harm; both are behind μP.
    """
    make_transfer(tables)
    tasks = [(name, seed) for name in (NARROW, *WIDE) for seed in SEEDS]
    tables.extend("transfer_best", find_best, tasks, ["model", "seed"])

"""The records of models of several sizes on texts of several lengths: captions, read by letters.

From them lesson 27 fits a law, and predicts a run that costs ten times as much.
"""

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import torch
from scipy.optimize import curve_fit, least_squares
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from records.captions import corpus
from records.fitting import cosine
from records.tables import RECORDS, Row, Tables, read
from records.trials import SEEDS, tune
from transformer_workbook.notebook import drawn_in_float64

WIDTHS, STEPS = (8, 16, 24, 32, 48, 64), (720, 1440, 2880)
LARGE, LONG = "128 × 7300", "32 × 7300"  # all of the text once, the first for ten times the money
RATES, LARGE_RATES = (1e-2, 2e-2, 4e-2), (2.5e-3, 5e-3, 1e-2)
TIME, BATCH = 32, 16
LEFT_OUT = tuple(f"law, left out {width}" for width in WIDTHS)
LAWS = (
    "law", "without E", "layers alone", "on the way",
    *LEFT_OUT, "without E, left out 8", "with a product", "Huber, logarithms",
)  # fmt: skip


@cache
def letters() -> dict[str, int]:
    """Number the characters of the training captions from 2; 1 stands for those that are rare."""
    counts = Counter(character for pair in corpus().split("train") for character in "".join(pair))
    frequent = [character for character, count in counts.most_common() if count > 100]
    return {character: number for number, character in enumerate(["\n", *frequent], 2)}


@cache
def windows(split: str) -> Tensor:
    """Cut the captions of a split, English and German in turn, into windows (number, 1 + time)."""
    text = "".join(f"{caption}\n" for pair in corpus().split(split) for caption in pair)
    ids = torch.tensor([letters().get(character, 1) for character in text])
    return ids[: len(ids) // (1 + TIME) * (1 + TIME)].view(-1, 1 + TIME)


def loss_on(model: LanguageModel, texts: Tensor) -> Tensor:
    """Return the mean loss of the letters, nats."""
    logits = model(texts[:, :-1])
    loss: Tensor = F.cross_entropy(logits.flatten(0, 1), texts[:, 1:].flatten())
    return loss


def measure(model: LanguageModel) -> float:
    """Return the loss on the validation captions."""
    with torch.no_grad():
        losses = [loss_on(model, part) * len(part) for part in windows("val").split(512)]
    return float(sum(losses)) / len(windows("val"))


def train_size(name: str, rate: float, seed: int) -> Row:
    """Train a model of one width on its share of the text; its loss at the end and on the way."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    width, steps = map(int, name.split(" × "))
    vocabulary = 2 + len(letters())
    with drawn_in_float64():
        model = LanguageModel(
            LanguageModelConfig(
                vocabulary, vocabulary, d_model=width, num_layers=2, num_heads=width // 8,
                d_ff=4 * width, norm_position="pre", positions="rotary", dropout=0.0,
                has_source=False, max_length=TIME,
            )
        ).float()  # fmt: skip
    order = torch.randperm(len(windows("train")), generator=torch.Generator().manual_seed(seed))
    adamw = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=0.0)
    row: Row = {"model": name, "rate": rate, "seed": seed}
    row["parameters"] = sum(weight.numel() for weight in model.parameters())
    row["in_layers"] = sum(weight.numel() for weight in model.decoder.parameters())
    row["tokens"] = steps * BATCH * TIME
    for step in range(steps):
        if 4 * step in (steps, 2 * steps):
            row[{4: "quarter", 2: "half"}[steps // step]] = f"{measure(model):.4f}"
        adamw.param_groups[0]["lr"] = rate * cosine(step, steps, steps / 20)
        texts = windows("train")[order[step * BATCH : (step + 1) * BATCH]]
        loss: Any = loss_on(model, texts)
        adamw.zero_grad()
        loss.backward()
        adamw.step()
    return row | {"val_loss": f"{measure(model):.4f}"}


def make_sizes(tables: Tables) -> None:
    """Language models of captions, letter by letter: six widths, each on three lengths of text.

    What would refute the law that is fitted to them: a run that costs ten times as much as the
    dearest of them (`sizes_large`), and that was kept aside.
    """
    models = [f"{width} × {steps}" for width in WIDTHS for steps in STEPS]
    tune(tables, "sizes", train_size, models, RATES, "val_loss")


def make_sizes_large(tables: Tables) -> None:
    """Two runs that were kept aside: a large model and a small one, on all of the text.

    What would refute "the law was wrong about the run": a learning rate that suits it better. The
    trials beside the runs have half and twice the rate, and are worse.
    """
    tune(tables, "sizes_large", train_size, [LARGE, LONG], LARGE_RATES, "val_loss")


def loss_of(at: Any, E: float, A: float, alpha: float, B: float, beta: float, c: float = 0) -> Any:
    """Compute the law of lesson 27: parameters in ten thousands, tokens in millions.

    ``c`` is the factor of a term in which both act together.
    """
    size, text = (at[0] / 1e4) ** -alpha, (at[1] / 1e6) ** -beta
    return E + A * size + B * text + c * size * text


def fitted(law: str, at: Any, losses: Any) -> Any:
    """Fit a law: E, A, α, B, β, and the factor of the product if it has one."""
    if law.startswith("without E"):
        four, _ = curve_fit(lambda at, *four: loss_of(at, 0.0, *four), at, losses, [0.5] * 4)
        return np.array([0.0, *four])
    if law == "Huber, logarithms":
        start = fitted("law", at, losses)
        off = lambda five: np.log(loss_of(at, *five)) - np.log(losses)  # noqa: E731
        return least_squares(off, start, loss="huber", f_scale=1e-3, bounds=(0, np.inf)).x
    number = 6 if law == "with a product" else 5
    bounds = ([0.0] * 5 + [-np.inf] * (number - 5), np.inf)
    found, _ = curve_fit(loss_of, at, losses, [0.5] * number, bounds=bounds, maxfev=20_000)
    return found


def fit_law(law: str, seed: int) -> Row:
    """Fit a law to the runs of one seed; what it says of the runs that were kept aside."""
    runs = [row for row in read(RECORDS / "sizes.csv") if int(row["seed"]) == seed]
    aside = {r["model"]: r for r in read(RECORDS / "sizes_large.csv") if int(r["seed"]) == seed}
    longest = {r["parameters"]: r for r in runs if r["model"].endswith(f"× {STEPS[-1]}")}
    column = "in_layers" if law == "layers alone" else "parameters"
    shares = {STEPS[0]: "quarter", STEPS[1]: "half", STEPS[2]: "val_loss"}
    _, _, out = law.partition(", left out ")
    kept = [r for r in runs if r["model"].split()[0] != out]
    losses = [
        longest[r["parameters"]][shares[int(r["model"].split()[-1])]]
        if law == "on the way" else r["val_loss"]
        for r in kept
    ]  # fmt: skip
    at = np.array([[float(r[axis]) for r in kept] for axis in (column, "tokens")])
    found = fitted(law, at, np.array(losses, float))
    off = np.array(losses, float) - loss_of(at, *found)
    large, long = (
        loss_of(np.array([float(aside[name][axis]) for axis in (column, "tokens")]), *found)
        for name in (LARGE, LONG)
    )
    row = {"model": law, "seed": seed, "E": found[0], "alpha": found[2], "beta": found[4]}
    row |= {"error": float((off**2).mean() ** 0.5), "large": large, "long": long}
    return {k: v if k in ("model", "seed") else f"{v:.4f}" for k, v in row.items()}


def make_sizes_laws(tables: Tables) -> None:
    """What laws, fitted to the runs of one seed, say of that seed's runs kept aside.

    What would refute "the law is known": another one that fits the same runs, and says something
    else. Run: without E; without one of the six sizes; with a product of size and text, which was
    chosen after both runs kept aside were known; a Huber loss of logarithms.
    """
    tasks = [(law, seed) for law in LAWS for seed in SEEDS]
    tables.extend("sizes_laws", fit_law, tasks, ["model", "seed"])

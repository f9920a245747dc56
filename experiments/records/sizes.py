"""The records of models of several sizes on texts of several lengths: captions, read by letters.

From them lesson 27 fits a law, and predicts a run that costs ten times as much.
"""

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import torch
from scipy.optimize import curve_fit
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
LAWS = ("law", "without E", "layers alone", "on the way")


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


def loss_of(at: Any, E: float, A: float, alpha: float, B: float, beta: float) -> Any:
    """Compute the law of lesson 27: parameters in ten thousands, tokens in millions."""
    parameters, tokens = at
    return E + A / (parameters / 1e4) ** alpha + B / (tokens / 1e6) ** beta


def fit_law(law: str, seed: int) -> Row:
    """Fit a law to the runs of one seed; what it says of the runs that were kept aside."""
    runs = [row for row in read(RECORDS / "sizes.csv") if int(row["seed"]) == seed]
    aside = {r["model"]: r for r in read(RECORDS / "sizes_large.csv") if int(r["seed"]) == seed}
    longest = {r["parameters"]: r for r in runs if r["model"].endswith(f"× {STEPS[-1]}")}
    column = "in_layers" if law == "layers alone" else "parameters"
    shares = {STEPS[0]: "quarter", STEPS[1]: "half", STEPS[2]: "val_loss"}
    losses = [
        longest[r["parameters"]][shares[int(r["model"].split()[-1])]]
        if law == "on the way" else r["val_loss"]
        for r in runs
    ]  # fmt: skip
    without = law == "without E"
    curve = (lambda at, *four: loss_of(at, 0.0, *four)) if without else loss_of
    start = [0.5] * (4 if without else 5)
    at = np.array([[float(r[axis]) for r in runs] for axis in (column, "tokens")])
    found, _ = curve_fit(curve, at, np.array(losses, float), start, bounds=(0, np.inf))
    *_, alpha, _, beta = found
    large, long = (
        curve(np.array([float(aside[name][axis]) for axis in (column, "tokens")]), *found)
        for name in (LARGE, LONG)
    )
    row = {"model": law, "seed": seed, "E": 0.0 if without else found[0]}
    row |= {"alpha": alpha, "beta": beta, "large": large, "long": long}
    return {k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()}


def make_sizes_laws(tables: Tables) -> None:
    """What four laws, fitted to the runs of one seed, say of that seed's runs kept aside.

    What would refute "the law is known": another one that fits the same runs, and says something
    else. Run: without E the fit is about as close and comes nearer to the large run, which is below
    the law; the small model that reads all of the text lies between what the two say of it.
    """
    tasks = [(law, seed) for law in LAWS for seed in SEEDS]
    tables.extend("sizes_laws", fit_law, tasks, ["model", "seed"])

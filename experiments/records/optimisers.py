"""The record of optimisers: what Muon and two schedules are worth to a small language model.

The text comes from a source whose probabilities are known: the loss is what is above its entropy.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.muon import Muon
from records.fitting import cosine
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook import drawn_in_float64

SYMBOLS, TIME, TEXTS, TESTS, STEPS, WARMUP = 64, 32, 32, 1024, 400, 40
RATES = (5e-3, 1e-2, 2e-2)
MODELS = {
    "AdamW": ("adamw", "cosine", STEPS),
    "AdamW, longer": ("adamw", "cosine", 3 * STEPS // 2),
    "AdamW, WSD": ("adamw", "wsd", STEPS),
    "AdamW, logits halved": ("adamw", "cosine", STEPS),
    "Muon": ("muon", "cosine", STEPS),
    "Muon, WSD": ("muon", "wsd", STEPS),
    "Muon, logits halved": ("muon", "cosine", STEPS),
}
"""The optimiser of the matrices in the layers, the schedule, and the number of steps.

Halved logits begin nearer to a uniform choice: the output matrix is tied (the record `tied_start`).
"""


@cache
def source() -> Tensor:
    """Return p(c | a, b), (a, b, c): symbols of probabilities near 1/rank, changed by each pair.

    Symbol 0 is padding, and never comes.
    """
    g = torch.Generator().manual_seed(0)
    changes = torch.randn(SYMBOLS, SYMBOLS, generator=g)
    changes = changes + torch.randn(SYMBOLS, SYMBOLS, SYMBOLS, generator=g)
    logits = changes - torch.arange(SYMBOLS).clamp(min=1).log()
    logits[..., 0] = -torch.inf
    return logits.softmax(dim=-1)


def texts(number: int, generator: torch.Generator) -> Tensor:
    """Sample texts, (number, time)."""
    cumulative, a = source().cumsum(dim=-1), torch.ones(number, dtype=torch.long)
    b, text = a, []
    for _ in range(20 + TIME):  # the first ones forget the start
        dice = torch.rand(number, 1, generator=generator)
        a, b = b, (cumulative[a, b] < dice).sum(dim=-1).clamp(max=SYMBOLS - 1)
        text.append(b)
    return torch.stack(text[20:], dim=1)


def excess(model: LanguageModel, tests: Tensor) -> float:
    """Return the loss above the entropy of the source, nats a token: the KL divergence to it."""
    with torch.no_grad():
        logs = model(tests)[:, 1:-1].log_softmax(dim=-1)  # each token with two before it
    p = source()[tests[:, :-2], tests[:, 1:-1]]
    return F.kl_div(logs.flatten(0, 1), p.flatten(0, 1), reduction="batchmean").item()


def share(schedule: str, step: int, steps: int) -> float:
    """Return the share of the learning rate: warm-up, then a cosine or WSD's last fifth."""
    if schedule == "cosine":
        return cosine(step, steps, WARMUP)
    return min((step + 1) / WARMUP, 1, (steps - step) / (steps / 5))


def train_with(name: str, rate: float, seed: int) -> Row:
    """Train one language model on fresh texts; its loss on others."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    kind, schedule, steps = MODELS[name]
    with drawn_in_float64():
        model = LanguageModel(
            LanguageModelConfig(
                SYMBOLS, SYMBOLS, d_model=32, num_layers=1, num_heads=2, d_ff=128,
                norm_position="pre", dropout=0.0, has_source=False, max_length=TIME,
            )
        ).float()  # fmt: skip
    for parameter in model.decoder_norm.parameters() if name.endswith("logits halved") else ():
        parameter.data /= 2
    by_muon = [p for p in model.decoder.parameters() if p.dim() == 2 and kind == "muon"]
    others = [p for p in model.parameters() if all(p is not q for q in by_muon)]
    optimisers: list[torch.optim.Optimizer] = [torch.optim.AdamW(others, weight_decay=0.0)]
    optimisers += [Muon(by_muon, rate)] if by_muon else []
    for step in range(steps):
        text = texts(TEXTS, torch.Generator().manual_seed(10_000 * seed + step))
        loss: Any = F.cross_entropy(model(text)[:, 1:-1].mT, text[:, 2:])
        model.zero_grad()
        loss.backward()
        for optimiser in optimisers:
            optimiser.param_groups[0]["lr"] = rate * share(schedule, step, steps)
            optimiser.step()
    loss_above = excess(model, texts(TESTS, torch.Generator().manual_seed(-1)))
    return {"model": name, "rate": rate, "seed": seed, "val_loss": f"{loss_above:.4f}"}


def make_optimisers(tables: Tables) -> None:
    """A language model's loss above the entropy of its text, by optimiser and schedule.

    What would refute "Muon learns more from a step": AdamW that has half as many steps again.
    If Muon is still ahead, it is worth more than these steps. Run: the two are within 0.02
    nats, so that it is ahead at an equal number of steps, and would not be if a step took half
    as long again. It is ahead with WSD too, and with logits that begin half as large.
    """
    tune(tables, "optimisers", train_with, list(MODELS), RATES, "val_loss")

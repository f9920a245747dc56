"""The record of selective copying: Mamba-2 whose tokens set their own steps, or all the same."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.linear_attention import linear_attention
from records.fitting import fit
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook import drawn_in_float64

SYMBOLS, COPIED, TIME, D_MODEL, HEADS, WIDTH = 8, 4, 20, 32, 4, 8
TEXTS, WARMUP, TESTS, RATES = 32, 50, 1000, (4e-3, 8e-3, 16e-3)
STEPS = {"gaps": 1400, "no gaps": 700}  # without gaps it is learned sooner
MODELS = [f"{kind}, {gaps}" for kind in ("selective", "fixed") for gaps in ("gaps", "no gaps")]


class Mamba2(nn.Module):
    """The layer of the page *Selective state spaces*; if it is fixed, Δ is one number a head."""

    def __init__(self, is_selective: bool) -> None:
        super().__init__()
        inner, self.is_selective = HEADS * WIDTH, is_selective
        self.parts, mixed = [inner, inner + 2 * WIDTH, HEADS], inner + 2 * WIDTH
        self.enter = nn.Linear(D_MODEL, sum(self.parts), bias=False)
        self.conv = nn.Conv1d(mixed, mixed, 4, groups=mixed)
        step = torch.logspace(-3, -1, HEADS)
        self.step_bias = nn.Parameter(step.expm1().log())  # softplus makes these steps of it
        self.log_rate = nn.Parameter(torch.arange(1.0, HEADS + 1).log())
        self.skip = nn.Parameter(torch.ones(HEADS, 1, 1))
        self.norm = nn.RMSNorm(inner, eps=1e-5)
        self.leave = nn.Linear(inner, D_MODEL, bias=False)

    def forward(self, u: Tensor) -> Tensor:
        """Read (batch, time, d_model) from an empty state."""
        gate, mixed, step = self.enter(u).split(self.parts, dim=-1)
        mixed = F.silu(self.conv(F.pad(mixed.mT, (3, 0)))).mT
        x, keys, queries = mixed.split([self.parts[0], WIDTH, WIDTH], dim=-1)
        step = F.softplus(self.is_selective * step + self.step_bias).mT  # (batch, heads, time)
        x = x.unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)
        keys, queries = (y[:, None].expand_as(x) for y in (keys, queries))
        empty = x.new_zeros(len(x), HEADS, WIDTH, WIDTH)
        log_decay = -self.log_rate.exp()[:, None] * step
        y, _ = linear_attention(queries, keys, step[..., None] * x, empty, log_decay=log_decay)
        y = (y + self.skip * x).transpose(1, 2).flatten(2)
        added: Tensor = self.leave(self.norm(y * F.silu(gate)))
        return added


class Copying(nn.Module):
    """Two layers, and logits of the symbol at each of the last positions."""

    def __init__(self, is_selective: bool) -> None:
        super().__init__()
        self.tokens = nn.Embedding(SYMBOLS + 1 + COPIED, D_MODEL)
        self.layers = nn.ModuleList(Mamba2(is_selective) for _ in range(2))
        self.norms = nn.ModuleList(nn.RMSNorm(D_MODEL) for _ in range(2))
        self.output = nn.Sequential(nn.RMSNorm(D_MODEL), nn.Linear(D_MODEL, SYMBOLS))

    def forward(self, tokens: Tensor) -> Tensor:
        """Compute the logits for the symbols that are asked for."""
        x = self.tokens(tokens)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = x + layer(norm(x))
        logits: Tensor = self.output(x[:, -COPIED:])
        return logits


def drawn(number: int, has_gaps: bool, time: int, generator: Any = None) -> tuple[Tensor, Tensor]:
    """Texts of that length, with their questions, and the symbols in order."""
    symbols = torch.randint(SYMBOLS, (number, COPIED), generator=generator)
    order = torch.rand(number, time, generator=generator).argsort(dim=-1)[:, :COPIED].sort().values
    texts = torch.full((number, time), SYMBOLS)  # noise
    texts.scatter_(1, order if has_gaps else torch.arange(COPIED).expand(number, -1), symbols)
    asked = SYMBOLS + 1 + torch.arange(COPIED).expand(number, -1)
    return torch.cat([texts, asked], dim=1), symbols


def train_copying(model: str, rate: float, seed: int) -> Row:
    """Train one model; the shares of right symbols in texts of this length, and of twice it."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    kind, gaps = model.split(", ")
    with drawn_in_float64():
        copying = Copying(kind == "selective")
    copying.float()

    def loss_at(_: int) -> Tensor:
        texts, symbols = drawn(TEXTS, gaps == "gaps", TIME)
        return F.cross_entropy(copying(texts).mT, symbols)

    fit(copying, rate, STEPS[gaps], WARMUP, loss_at)
    row: Row = {"model": model, "rate": rate, "seed": seed}
    for name, time in (("", TIME), ("longer_", 2 * TIME)):
        texts, symbols = drawn(TESTS, gaps == "gaps", time, torch.Generator().manual_seed(2))
        with torch.no_grad():
            logits = copying(texts)
        row[f"{name}loss"] = f"{F.cross_entropy(logits.mT, symbols).item():.3e}"
        row[f"{name}right"] = round((logits.argmax(-1) == symbols).double().mean().item(), 4)
    return row


def make_selective(tables: Tables) -> None:
    """Mamba-2 that copies four symbols, with and without noise between them.

    What would refute "with gaps, tokens have to compute their steps": models with a single step
    that copy as well. They do, as far as five runs can tell, and so they do in texts of twice the
    length, which are the other method: there what a model keeps has to fade less.
    """
    tune(tables, "selective", train_copying, MODELS, RATES, "loss")

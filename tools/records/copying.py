"""The record of which layers learn to say what stood at the beginning."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import SinusoidalPositionalEncoding
from annotated_transformer.schedule import linear_schedule
from records.tables import Row, Tables
from records.trials import SEEDS

LENGTHS, RATES, STEPS = (5, 10, 20, 40), (3e-3, 1e-2), 300
SYMBOLS, WIDTH, SENTENCES, TESTS = 8, 32, 32, 1000


class Convolutions(nn.Module):
    """Four convolutions that read three positions each, the last of them their own."""

    def __init__(self, *gaps: int) -> None:
        super().__init__()
        self.gaps = gaps
        self.layers = nn.ModuleList(nn.Conv1d(WIDTH, WIDTH, 3, dilation=gap) for gap in gaps)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, d) to (batch, time, d)."""
        x = x.mT
        for layer, gap in zip(self.layers, self.gaps, strict=True):
            x = F.relu(layer(F.pad(x, (2 * gap, 0))))
        return x.mT


def body(name: str) -> nn.Module:
    """The layer, or the layers, between the embeddings and the answer."""
    if name == "GRU":
        return nn.GRU(WIDTH, WIDTH, batch_first=True)
    if name == "self-attention":
        return MultiHeadAttention(WIDTH, 1)
    return Convolutions(1, 1, 1, 1) if name == "convolutions" else Convolutions(1, 3, 9, 27)


NAMES = ("GRU", "self-attention", "convolutions", "dilated convolutions")


class Copier(nn.Module):
    """Reads symbols; says, at the last position, what the first was."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.embedding = nn.Embedding(SYMBOLS, WIDTH)
        self.positions = SinusoidalPositionalEncoding(max(LENGTHS), WIDTH)
        self.body = body(name)
        self.output = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, symbols: Tensor) -> Tensor:
        """(batch, time) to logits (batch, symbols)."""
        x = self.positions(self.embedding(symbols))
        if self.name == "self-attention":
            y = self.body(x, x, x)
        else:
            y = self.body(x)[0] if self.name == "GRU" else self.body(x)
        logits: Tensor = self.output(y[:, -1])
        return logits


def train_copier(name: str, length: int, rate: float, seed: int) -> float:
    """The share of right answers on new sequences, after training."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    model, schedule = Copier(name), linear_schedule(rate, STEPS)
    optimizer = torch.optim.Adam(model.parameters(), rate, eps=1e-6)
    for step in range(1, STEPS + 1):
        optimizer.param_groups[0]["lr"] = schedule(step)
        x = torch.randint(SYMBOLS, (SENTENCES, length))
        optimizer.zero_grad()
        loss: Any = F.cross_entropy(model(x), x[:, 0])
        loss.backward()
        optimizer.step()
    x = torch.randint(SYMBOLS, (TESTS, length))
    return float((model(x).argmax(-1) == x[:, 0]).double().mean())


def copy_at_rates(name: str, length: int, seed: int) -> Row:
    """Train one model with each of the rates; tell the shares of right answers."""
    shares = {f"rate {rate}": train_copier(name, length, rate, seed) for rate in RATES}
    return {"model": name, "length": length, "seed": seed, **shares}


def make_copying(tables: Tables) -> None:
    """Which of four kinds of layer learn to say what stood at the beginning, by the distance."""
    tasks = [(name, length, seed) for name in NAMES for length in LENGTHS for seed in SEEDS]
    tables.extend("copying", copy_at_rates, tasks, ["model", "length", "seed"])

"""The record of post-norm and pre-norm, with and without warm-up, at two depths.

Of the runs that stay at chance, there is one more at half the rate for each seed.
"""

import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import SinusoidalPositionalEncoding
from records.tables import Row, Tables
from records.trials import SEEDS

SYMBOLS, LENGTH, D_MODEL, D_FF, HEADS = 16, 8, 32, 64, 4
RATE, STEPS, EVERY, SENTENCES, WARMUP = 1e-2, 400, 20, 48, 100
NORM_POSITIONS = ("post", "pre")
DEPTHS = (6, 12)
KEYS = ["norm", "layers", "warmup", "seed", "rate"]


class Reverser(nn.Module):
    """An encoder that says a row of symbols backwards."""

    def __init__(self, norm_position: str, num_layers: int) -> None:
        super().__init__()
        self.symbols = nn.Embedding(SYMBOLS, D_MODEL)
        self.positions = SinusoidalPositionalEncoding(LENGTH, D_MODEL)
        self.layers = nn.ModuleList(
            EncoderLayer(
                MultiHeadAttention(D_MODEL, HEADS),
                FeedForward(D_MODEL, D_FF),
                lambda: Residual(D_MODEL, 0.0, norm_position),
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(D_MODEL) if norm_position == "pre" else nn.Identity()
        self.output = nn.Linear(D_MODEL, SYMBOLS)
        self.mask = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """The logits of the symbol to say at each position."""
        x = self.positions(self.symbols(ids))
        for layer in self.layers:
            x = layer(x, self.mask)
        logits: torch.Tensor = self.output(self.norm(x))
        return logits


def train_reverser(
    norm_position: str, num_layers: int, warmup: int, seed: int, rate: float = RATE
) -> Row:
    """Train one encoder; every 20 steps, tell the share of symbols that it said right in them."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    model = Reverser(norm_position, num_layers)
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-6)
    settings = (norm_position, num_layers, warmup, seed, rate)
    row: Row = dict(zip(KEYS, settings, strict=True))
    right = 0
    for step in range(1, STEPS + 1):
        ids = torch.randint(SYMBOLS, (SENTENCES, LENGTH))
        logits, target = model(ids), ids.flip(1)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for group in adam.param_groups:
            group["lr"] = rate * min(1.0, step / max(1, warmup))
        adam.step()
        right += int((logits.argmax(-1) == target).sum())
        if step % EVERY == 0:
            row[f"step_{step}"] = round(right / (EVERY * SENTENCES * LENGTH), 3)
            right = 0
    return row


def make_norms(tables: Tables) -> None:
    """Learning curves with post-norm and pre-norm, with and without warm-up, at two depths."""
    runs = [
        (position, depth, warmup, seed, RATE)
        for depth in DEPTHS for position in NORM_POSITIONS for warmup in (0, WARMUP)
        for seed in SEEDS
    ]  # fmt: skip
    runs += [("post", max(DEPTHS), 0, seed, RATE / 2) for seed in SEEDS]
    tables.extend("norms", train_reverser, runs, KEYS)

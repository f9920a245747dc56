"""The record of the dinner of lesson 11, trained as on its page, and rivals of its encoder layers.

At a table for one, attention with or without x added is a matrix, which is right for at most three
of four, by counting; at a table of eight where all guests are alike, for one of eight. A rival is
right if it passes 85 % at both tables.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.multi_head_attention import MultiHeadAttention
from records.tables import Row, Tables, with_seeds

ALONE: Row = {"residual": False, "network": False, "norm": False}
RIVALS: dict[str, Row] = {
    "six encoder layers": {},
    "attention alone": ALONE,
    "attention alone, one layer": ALONE | {"layers": 1},
    "attention alone, matrices four times as large": ALONE | {"larger": 4},
    "attention + x": {"network": False, "norm": False},
    "attention + x, four times as wide": {"network": False, "norm": False, "d": 128},
    "attention + x, three times as long": {"network": False, "norm": False, "steps": 1200},
    "attention + x, norm": {"network": False},
    "no residual": {"residual": False},
    "no norm": {"norm": False},
    "one encoder layer": {"layers": 1},
    "twelve encoder layers": {"layers": 12},
    "pre-norm": {"pre": True},
    "pre-norm, twelve layers": {"pre": True, "layers": 12},
}


class Layer(nn.Module):
    """An encoder layer, or what is left of it; its setting is a row of `RIVALS`."""

    def __init__(self, of: Row) -> None:
        super().__init__()
        d, self.of = of.get("d", 32), of
        self.attention = MultiHeadAttention(d, 4)
        self.network = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, d))
        has_norm = of.get("norm", True)
        self.norms = nn.ModuleList(nn.LayerNorm(d) if has_norm else nn.Identity() for _ in range(2))
        for matrix in self.attention.parameters():
            matrix.data *= of.get("larger", 1) if matrix.dim() > 1 else 1

    def forward(self, x: Tensor) -> Tensor:
        """One layer further: (batch, guest, d)."""
        pre = self.of.get("pre")
        sublayers = [lambda y: self.attention(y, y, y), self.network]
        for sublayer, norm in zip(
            sublayers[: 1 + self.of.get("network", True)], self.norms, strict=False
        ):
            found = sublayer(norm(x)) if pre else sublayer(x)
            found = x + found if self.of.get("residual", True) else found
            x = found if pre else norm(found)
        return x


def build(of: Row) -> nn.Module:
    """A stack of layers, from what is known of the guests to the logits of what was meant."""
    d, layers = of.get("d", 32), [Layer(of) for _ in range(of.get("layers", 6))]
    end = [nn.LayerNorm(d)] if of.get("pre") else []
    return nn.Sequential(nn.Linear(49, d), *layers, *end, nn.Linear(d, 16))


def dinners(number: int, guests: int) -> tuple[Tensor, Tensor]:
    """What is known of each guest (number, guest, 49), and what the one before meant."""
    name, pair = (torch.rand(number, n).argsort(1)[:, :guests] for n in (16, 8))
    side, negated = torch.randint(2, (2, number, guests))
    parts = torch.stack([name, name.roll(1, 1), 2 * pair + side], -1)
    known = torch.cat([F.one_hot(parts, 16).flatten(2), negated[..., None]], -1)
    return known.float(), (2 * pair + (side ^ negated)).roll(1, 1)


def train_dinner(model: str, seed: int) -> Row:
    """Train one model; its shares of right answers at new tables for one, eight and six."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    built = build(RIVALS[model])
    adam = torch.optim.Adam(built.parameters(), lr=0.003)
    for step in range(RIVALS[model].get("steps", 400)):
        known, meant = dinners(64, 8 if step % 2 else 1)
        loss: Any = F.cross_entropy(built(known).flatten(0, 1), meant.flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
    row: Row = {"model": model, "seed": seed}
    for guests in (1, 8, 5):
        known, meant = dinners(1250, guests)
        with torch.no_grad():
            right = (built(known).argmax(-1) == meant).double().mean().item()
        row[f"right_{guests}"] = round(right, 3)
    return row


def make_dinner(tables: Tables) -> None:
    """Six encoder layers at a dinner, and stacks with less in them or more.

    It is the refuter of lesson 11: what attention alone gets right, and a table of five.
    """
    seeds = dict.fromkeys(RIVALS, 5) | {"six encoder layers": 20}
    tables.extend("dinner", train_dinner, with_seeds(seeds), ["model", "seed"])

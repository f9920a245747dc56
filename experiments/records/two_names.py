"""The record of the party of lesson 6, trained as on its page, and rivals of its two heads.

With one row of weights, made from names alone, and a linear readout, at most five of six children
name both gifts in order, by counting; a rival is right if it passes 93.3 %.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.multi_head_attention import MultiHeadAttention
from records.tables import Row, Tables, with_seeds

RIVALS: dict[str, Row] = {
    "two heads": {},
    "one head": {"heads": 1},
    "one head, a quarter of the rate, 3,000 steps": {"heads": 1, "rate": 0.005, "steps": 3000},
    "one head, four times as wide": {"heads": 1, "d": 128},
    "one head, the names drawn added": {"heads": 1, "skip": True},
    "one head, all from whole cards": {"heads": 1, "whole": True},
    "two heads, one row of weights": {"alike": True},
    "two heads, frozen queries and keys": {"frozen": True},
    "one head, a network for W_O": {"heads": 1, "network": True},
    "two layers of one head": {"heads": 1, "layers": 2, "whole": True, "skip": True},
    "two layers of one head, no residual": {"heads": 1, "layers": 2, "whole": True},
}


class Model(nn.Module):
    """A layer of heads or two, and what may follow them; its setting is a row of `RIVALS`."""

    def __init__(self, of: Row) -> None:
        super().__init__()
        self.of, width, heads = of, 64 if of.get("whole") else 32, of.get("heads", 2)
        d = of.get("d", width // heads)
        layers = (MultiHeadAttention(width, heads, d, d) for _ in range(of.get("layers", 1)))
        self.layers = nn.ModuleList(layers)
        self.readout = nn.Linear(width, 32) if width > 32 else nn.Identity()
        if of.get("network"):
            network = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 32))
            self.layers[-1].output = network

    def forward(self, asks: Tensor, name: Tensor, gift: Tensor) -> Tensor:
        """From (batch, child, 32) or 16 each to logits (batch, child, 32)."""
        whole, padded = self.of.get("whole"), [F.pad(part, (0, 16)) for part in (name, gift)]
        x = torch.cat([asks, name, gift], -1) if whole else asks
        for layer in self.layers:
            seen = layer(x, *([x, x] if whole else padded))
            x = x + seen if self.of.get("skip") else seen
        logits: Tensor = self.readout(x)
        return logits

    def tie(self) -> None:
        """Give the second head the queries and keys of the first, or all of them no gradient."""
        for part in (part for layer in self.layers for part in (layer.query, layer.key)):
            for numbers in part.parameters() if self.of.get("alike") else ():
                numbers.data[16:] = numbers.data[:16]
            part.requires_grad_(not self.of.get("frozen"))


def parties(number: int, children: int = 8) -> tuple[list[Tensor], Tensor]:
    """What the children ask for, are found by and hold, and the answers (number, child, 2)."""
    name, gift = (torch.rand(number, 16).argsort(1)[:, :children] for _ in range(2))
    drawn, answers = (torch.stack([x.roll(1, 1), x.roll(2, 1)], -1) for x in (name, gift))
    parts = F.one_hot(drawn, 16).flatten(2), F.one_hot(name, 16), F.one_hot(gift, 16)
    return [part.float() for part in parts], answers


def train_two_names(model: str, seed: int) -> Row:
    """Train one model; its shares of right answers at new parties of eight and of twelve."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    built = Model(RIVALS[model])
    adam = torch.optim.Adam(built.parameters(), lr=RIVALS[model].get("rate", 0.02))
    for _ in range(RIVALS[model].get("steps", 400)):
        cards, answers = parties(64)
        built.tie()
        logits = built(*cards).unflatten(-1, (2, 16))
        loss: Any = F.cross_entropy(logits.flatten(0, 2), answers.flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
    built.tie()
    row: Row = {"model": model, "seed": seed}
    for children in (8, 12):
        cards, answers = parties(1250, children)
        logits = built(*cards).unflatten(-1, (2, 16))
        two = logits.softmax(-1).sum(-2).topk(2).indices.sort().values
        either = (two == answers.sort().values).all(-1).double().mean().item()
        order = (logits.argmax(-1) == answers).all(-1).double().mean().item()
        row |= {f"either_{children}": round(either, 3), f"order_{children}": round(order, 3)}
    return row


def make_two_names(tables: Tables) -> None:
    """Two heads at a party where each child drew two names, and ten models with less or other.

    It is the refuter of lesson 6: what cheaper models get right, and a larger party.
    """
    seeds = dict.fromkeys(RIVALS, 5) | {"two heads": 20}
    tables.extend("two_names", train_two_names, with_seeds(seeds), ["model", "seed"])

"""The record of lesson 16: one head after the other removed from models trained as on its page.

Written down before the runs: by counting, 12.5 % are right without the first layer (8.3 % of twelve
children) and 6.25 % without the second; a removal refutes the count if 22.5 % and 16.25 % are. A
head is not missed if at least 95 % are right without it. After 300 steps two of 20 models missed B
or C, so that the page trains for 600, after which one of 20 did; the other models stay at 300.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.multi_head_attention import MultiHeadAttention
from records.tables import Row, Tables, with_seeds

RIVALS: dict[str, Row] = {
    "heads A, B and C": {"steps": 600},
    "half the steps": {},
    "one head in the second layer": {"second": 1},
    "four heads in the second layer": {"second": 4},
    "two heads in each layer": {"first": 2},
    "half as wide": {"d": 64},
    "twelve children": {"children": 12},
}
# What a later layer reads in place of the heads' output (line, head, word, d).
INSTEAD: dict[str, Any] = {
    "zero": torch.zeros_like,
    "mean": lambda output: output.mean((0, 2), keepdim=True).expand_as(output),
    "other": lambda output: output.roll(1, dims=0),  # that of another line
}


class Model(nn.Module):
    """The model of the page; its setting is a row of `RIVALS`."""

    def __init__(self, of: Row) -> None:
        super().__init__()
        d, places = of.get("d", 128), 2 * of.get("children", 8)
        self.table, self.places = nn.Embedding(32, d), nn.Embedding(places, d)
        self.first = MultiHeadAttention(d, of.get("first", 1))
        self.second = MultiHeadAttention(d, of.get("second", 2))
        self.output = nn.Linear(d, 16)

    def forward(self, text: Tensor, asked: Tensor) -> Tensor:
        """From words (line, 2 · children) and names (line, child) to logits (line, child, 16)."""
        x, earlier = self.table(text), torch.ones(2 * [text.size(1)]).tril().bool()
        placed = x + self.places.weight
        x = x + self.first(placed, placed, x, earlier)
        logits: Tensor = self.output(self.second(self.table(asked), x, x))
        return logits


def lines(number: int, children: int) -> tuple[Tensor, Tensor, Tensor]:
    """Lines of names and gifts (line, 2 · children), the names, and the gifts (line, child)."""
    names, gifts = (torch.rand(number, 16).argsort(1)[:, :children] for _ in range(2))
    return torch.stack([names, 16 + gifts], -1).flatten(1), names, gifts


def train_removals(model: str, seed: int) -> Row:
    """Train one model; what is right of 4,000 new questions when heads are removed."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    of, built = RIVALS[model], Model(RIVALS[model])
    children: int = of.get("children", 8)
    adam = torch.optim.Adam(built.parameters(), lr=0.002)
    for _ in range(of.get("steps", 300)):
        text, names, gifts = lines(32, children)
        loss: Any = F.cross_entropy(built(text, names).mT, gifts)
        adam.zero_grad()
        loss.backward()
        adam.step()
    text, names, gifts = lines(4000 // children, children)

    def right(layer: Any, heads: list[int], instead: str = "zero") -> float:
        def hook(_: Any, args: Any, output: Tensor) -> None:
            output[:, heads] = INSTEAD[instead](output[:, heads])

        with torch.no_grad(), layer.attention.register_forward_hook(hook):
            found = built(text, names).argmax(-1) == gifts
        return round(found.double().mean().item(), 3)

    child = torch.arange(children)
    true = {"first": (2 * child + 1, 2 * child), "second": (child, 2 * child + 1)}  # query, key
    row: Row = {"model": model, "seed": seed, "whole": right(built.first, [])}
    for place, (query, key) in true.items():
        layer: Any = getattr(built, place)
        each = [[h] for h in range(layer.num_heads)]
        maps: list[Tensor] = []

        def look(module: Any, args: Any, _: Any, maps: list[Tensor] = maps) -> None:
            maps.append(module.weights(args[0], args[1], args[3]))  # (line, head, query, key)

        with torch.no_grad(), layer.attention.register_forward_hook(look):
            built(text, names)
        score = maps[0][:, :, query, key].mean((0, 2)).min().item()
        row[f"{place}_score"] = round(score, 3)  # of the head that has the lowest
        for instead in INSTEAD:
            row[f"{place}_one_{instead}"] = min(right(layer, h, instead) for h in each)
            row[f"{place}_all_{instead}"] = right(layer, [*range(layer.num_heads)], instead)
    return row


def make_removals(tables: Tables) -> None:
    """One head after the other removed from models that know who holds what.

    It is the refuter of lesson 16: what a removed head leaves, in three ways and seven models.
    """
    seeds = dict.fromkeys(RIVALS, 5) | dict.fromkeys(["heads A, B and C", "half the steps"], 20)
    tables.extend("removals", train_removals, with_seeds(seeds), ["model", "seed"])

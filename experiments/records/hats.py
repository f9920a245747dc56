"""The record of the guests of lesson 10, trained as on its page, and rivals at the same task.

Whoever has not seen the guest with the hat is right once in sixteen times: 6.2 %.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import SelfAttention
from records.tables import Row, Tables

NAMES, WIDTH, RATE, STEPS = 16, 32, 0.02, 200  # a rival is right if it passes 16.2 %
RUNS = {  # of each model, how many seeds at 8 guests and at 60
    "self-attention": (5, 20),
    "GRU": (5, 20),
    "GRU that keeps": (5, 20),
    "convolutions": (5, 5),
    "convolutions, four times as wide": (0, 5),
    "convolutions with gaps": (0, 5),
    "frozen W_Q and W_K": (0, 5),
    "mean of all guests": (0, 5),
    "mean of what a network makes of each": (0, 5),
    "GRU, three times the rate": (0, 5),
    "GRU, three times as long": (0, 5),
}


class Reader(nn.Module):
    """A layer over the guests (batch, time, 18), whose last output (batch, width) is used."""

    def __init__(self, model: str) -> None:
        super().__init__()
        width, inputs = WIDTH * (4 if "wide" in model else 1), NAMES + 2
        self.each = model.endswith("each")
        self.gaps = (1, 3, 9, 27) if "gaps" in model else (1, 1, 1, 1)
        self.output = nn.Linear(width, NAMES)
        self.layer: Any = SelfAttention(inputs, width, width)
        for matrix in (self.layer.query, self.layer.key):
            matrix.requires_grad_("frozen" not in model)
        if "GRU" in model:
            self.layer = nn.GRU(inputs, width, batch_first=True)
            if "keeps" in model:
                nn.init.constant_(self.layer.bias_hh_l0[width : 2 * width], 4)
        if "mean" in model:
            wide = 32 if self.each else 512
            self.layer = nn.Sequential(nn.Linear(inputs, wide), nn.ReLU(), nn.Linear(wide, width))
        if "convolutions" in model:
            widths = [inputs, *[width] * 3]
            layers = [nn.Conv1d(w, width, 3, dilation=g) for w, g in zip(widths, self.gaps)]  # noqa: B905
            self.layer = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        """Guess who wore the hat: logits (batch, name)."""
        if isinstance(self.layer, nn.GRU):
            return self.output(self.layer(x)[0][:, -1])
        if isinstance(self.layer, nn.Sequential):
            return self.output(self.layer(x).mean(1) if self.each else self.layer(x.mean(1)))
        if isinstance(self.layer, nn.ModuleList):
            for layer, gap in zip(self.layer, self.gaps, strict=True):
                x = layer(F.pad(x.mT, (2 * gap, 0))).tanh().mT
            return self.output(x[:, -1])
        return self.output(self.layer(x)[:, -1])


def evenings(number: int, guests: int) -> tuple[Tensor, Tensor]:
    """Guests (number, guests + 1, 18), the first with the hat, then *who?*; and the answers."""
    names = torch.randint(NAMES, (number, guests))
    x = F.pad(F.one_hot(names, NAMES).float(), (0, 2, 0, 1))
    x[:, 0, NAMES] = x[:, -1, NAMES + 1] = 1
    return x, names[:, 0]


def train_hats(model: str, guests: int, seed: int) -> Row:
    """Train one model; its shares of right answers, also with twice as many guests."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    reader = Reader(model)
    rate = RATE * (3 if "times the rate" in model else 1)
    adam = torch.optim.Adam([p for p in reader.parameters() if p.requires_grad], lr=rate)
    for _ in range(STEPS * (3 if "as long" in model else 1)):
        x, answers = evenings(32, guests)
        loss = F.cross_entropy(reader(x), answers)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    row: Row = {"model": model, "guests": guests, "seed": seed}
    with torch.no_grad():
        for name, number in (("right", guests), ("right_twice", 2 * guests)):
            x, answers = evenings(1000, number)
            row[name] = (reader(x).argmax(-1) == answers).double().mean().item()
    return row


def make_hats(tables: Tables) -> None:
    """Four models that remember the first guest, at two distances, and seven rivals.

    It is the refuter of lesson 10: what a GRU and a convolution learn with other settings.
    """
    tasks = [
        (model, guests, seed)
        for model, numbers in RUNS.items()
        for guests, number in zip((8, 60), numbers, strict=True)
        for seed in range(1, number + 1)
    ]
    tables.extend("hats", train_hats, tasks, ["model", "guests", "seed"], workers=1)

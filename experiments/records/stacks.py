"""The record of plain stacks and of stacks with shortcuts: training loss against the rate.

What was fixed before the runs: a rate is *usable* with a seed if the mean training loss of the last
20 steps is below a tenth of what guessing the mean costs, which is 1. The width of the usable range
of a seed is the number of usable rates, each twice the one before; it is compared between kinds by
seed. The best rate of a kind is chosen by the mean logarithm of the loss over the seeds of the
trials, and what is reported of it comes from other seeds.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.layers import FeedForward
from records.tables import Row, Tables

POINTS, NUMBERS, WIDTH, INNER = 128, 8, 16, 32
KINDS = {
    "plain, 4": (4, False, False),
    "plain, 24": (24, False, False),
    "shortcut, 24": (24, True, False),
    "plain, 24, looks linear": (24, False, True),
}
RATES = tuple(round(6.25e-6 * 2**k, 8) for k in range(12))
"""Each twice the one before, 0.00000625 to 0.0128."""
TRIAL_SEEDS, SEEDS = (0, 1), (10, 11, 12, 13, 14)
"""The seeds that choose a rate, and those that are reported."""
STEPS, LAST = (150, 600), 20
USABLE = 0.1
"""A rate is usable if the mean loss of the last 20 steps is below this."""
WARMUP, WARMUP_RATES = 50, RATES[7:]
KEYS = ["kind", "warmup", "rate", "seed"]


def make_data(seed: int) -> tuple[Tensor, Tensor]:
    """Draw 128 points with 8 numbers each, and their targets with mean 0 and variance 1."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(POINTS, NUMBERS, generator=generator)
    y = torch.sin(2 * x[:, :1]) * x[:, 1:2] + x[:, 2:3]
    return x, (y - y.mean()) / y.std(correction=0)


class Stack(nn.Module):
    """Feed-forward networks with He's initialisation, normalised, with or without shortcuts.

    One that looks linear is an orthogonal matrix before training: its inner weights are W and -W,
    its outer ones V and -V, and max(0, Wx) - max(0, -Wx) = Wx (Balduzzi et al. 2017).
    """

    def __init__(self, depth: int, shortcut: bool, linear: bool) -> None:
        super().__init__()
        self.shortcut = shortcut
        networks = [FeedForward(WIDTH, INNER) for _ in range(depth)]
        for network in networks:
            nn.init.kaiming_normal_(network.inner.weight, nonlinearity="relu")
            nn.init.kaiming_normal_(network.outer.weight, nonlinearity="linear")
            if linear:
                for layer, axis in ((network.inner, 0), (network.outer, 1)):
                    half = nn.init.orthogonal_(torch.empty(WIDTH, WIDTH))
                    layer.weight = nn.Parameter(torch.cat([half, -half], dim=axis))
                    nn.init.zeros_(layer.bias)
        self.networks = nn.ModuleList(networks)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(depth))
        self.enter, self.leave = nn.Linear(NUMBERS, WIDTH), nn.Linear(WIDTH, 1)

    def vectors(self, x: Tensor) -> Tensor:
        """Map (points, 8) to (points, width), after the last layer."""
        y: Tensor = self.enter(x)
        for network, norm in zip(self.networks, self.norms, strict=True):
            y = norm(network(y) + y) if self.shortcut else norm(network(y))
        return y

    def forward(self, x: Tensor) -> Tensor:
        """(points, 8) to (points, 1)."""
        guessed: Tensor = self.leave(self.vectors(x))
        return guessed


def alike(vectors: Tensor) -> float:
    """Compute the mean cosine between two different vectors."""
    y = F.normalize(vectors, dim=-1)
    return ((y @ y.T).sum().item() - len(y)) / (len(y) * (len(y) - 1))


def train_stack(kind: str, warmup: int, rate: float, seed: int) -> Row:
    """Train one stack; return the loss at both steps, and the initial similarity of its vectors."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    model = Stack(*KINDS[kind])
    x, target = make_data(seed)
    adam = torch.optim.Adam(model.parameters(), eps=1e-6, fused=True)
    row: Row = dict(zip(KEYS, (kind, warmup, rate, seed), strict=True))
    with torch.no_grad():
        row["alike"] = round(alike(model.vectors(x)), 3)
    losses = []
    for step in range(1, max(STEPS) + 1):
        adam.param_groups[0]["lr"] = rate * min(1.0, step / max(1, warmup))
        loss = ((model(x) - target) ** 2).mean()
        losses.append(loss.item())
        adam.zero_grad()
        loss.backward()
        adam.step()
        if step in STEPS:
            row[f"loss_{step}"] = f"{sum(losses[-LAST:]) / LAST:.3e}"
    return row


def make_stacks(tables: Tables) -> None:
    """The training loss of plain stacks and of one with shortcuts, over the learning rate.

    Refuted if the usable range were no wider with shortcuts once both stacks have a warm-up, which
    a plain stack at a high rate may need. Run: the five highest rates with a warm-up of 50
    steps. At those rates the stack with shortcuts still had about two more, an interval that just
    contains zero. By another method: if it took shortcuts, no initialisation would do as well. Run:
    a plain stack of 24 whose layers begin as orthogonal maps has as wide a range without any.
    """
    tasks = [
        (kind, 0, rate, seed) for kind in KINDS for rate in RATES for seed in TRIAL_SEEDS + SEEDS
    ]
    deep = [kind for kind, (depth, *_) in KINDS.items() if depth == max(KINDS.values())[0]]
    tasks += [
        (kind, WARMUP, rate, seed) for kind in deep for rate in WARMUP_RATES for seed in SEEDS
    ]
    tables.extend("stacks", train_stack, tasks, KEYS, workers=1)

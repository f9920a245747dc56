"""The record of the queue of lesson 7, trained as on its page: with other rows, other seeds.

A queue and its mirror image are asked together, so that without positions a half is the most.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.attention import SelfAttention
from annotated_transformer.positional_encoding import NoPositionalEncoding, sinusoidal_encoding
from records.tables import Row, Tables, with_seeds

PEOPLE, LENGTH, LONGER, WIDTH, STEPS = 20, 16, 20, 64, 400
NEVER, KNOWN, NEW = [3, 6, 9, 12], [2, 5, 10, 13], [16, 17, 18, 19]
ASKED = torch.tensor([place for place in range(1, LENGTH) if place not in NEVER])
PLACE, COLUMN = torch.arange(LONGER)[:, None], torch.arange(WIDTH)
HANDS = sinusoidal_encoding(LONGER, WIDTH).float()


def blurred() -> torch.Tensor:
    """Random rows, each mixed with its neighbours until both are alike."""
    rows = torch.randn(LONGER + 5, WIDTH) * 2**0.5
    for _ in range(5):
        rows = (rows[:-1] + rows[1:]) / 2
    return rows


ROWS: dict[str, Any] = {  # by what is added; a rival is right if it passes 600 of 1,000
    "sinusoids": lambda: HANDS,
    "nothing": lambda: torch.zeros(LONGER, WIDTH),
    "random rows": lambda: torch.randn(LONGER, WIDTH) / 2**0.5,  # as long as the sinusoids
    "blurred rows": blurred,
    "sinusoids, shuffled": lambda: HANDS[torch.randperm(LONGER)],
    "learned rows": lambda: nn.Parameter(torch.randn(LONGER, WIDTH)),
    "p / length": lambda: PLACE / LENGTH * (COLUMN < 1),
    "one bit, odd or even": lambda: PLACE % 2 * (COLUMN < 1.0),
    "p in binary": lambda: (2.0 * (PLACE >> COLUMN & 1) - 1) * (COLUMN < 5),
    "the first hand alone": lambda: HANDS * (COLUMN < 2),
    "the first two hands": lambda: HANDS * (COLUMN < 4),
}


def train_queue(model: str, seed: int) -> Row:
    """Train one head; what it gets right of 1,000 at places of each kind."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    words, look = nn.Embedding(PEOPLE, WIDTH), SelfAttention(WIDTH, WIDTH, WIDTH)
    add = NoPositionalEncoding(LONGER, WIDTH)
    add.table = ROWS[model]()
    head = nn.Sequential(words, add, look, nn.Linear(WIDTH, PEOPLE))
    adam = torch.optim.Adam(head.parameters(), lr=0.01)
    for _ in range(STEPS):
        queue = torch.rand(64, PEOPLE).argsort(1)[:, :LENGTH]
        loss: Any = F.cross_entropy(head(queue)[:, ASKED].mT, queue[:, ASKED - 1])
        adam.zero_grad()
        loss.backward()
        adam.step()

    @torch.no_grad()
    def right(places: list[int], length: int) -> float:
        queue = torch.rand(125, PEOPLE).argsort(1)[:, :length]
        queue, asked = torch.cat([queue, queue.flip(1)]), torch.tensor(places)
        share = (head(queue).argmax(-1)[:, asked] == queue[:, asked - 1]).double().mean()
        return round(share.item(), 3)

    row = {"asked": right(KNOWN, LENGTH), "never_asked": right(NEVER, LENGTH)}
    return {"model": model, "seed": seed} | row | {"new": right(NEW, LONGER)}


def make_queues(tables: Tables) -> None:
    """One head that says who stands in front, with eleven kinds of positions.

    It is the refuter of lesson 7: rows that are no clock, and a queue longer than in training.
    """
    seeds = dict.fromkeys(ROWS, 5) | {"sinusoids": 20, "the first hand alone": 20}
    tables.extend("queues", train_queue, with_seeds(seeds), ["model", "seed"])

"""The record of lesson 4: numbers read aloud, as on its page, by scores of all kinds and by rivals.

The task is that of lesson 3, and so is the test: a thousand orders of the same digits.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.luong import make_score
from annotated_transformer.soft_lookup import masked_softmax
from records.reading_aloud import WORDS, numbers, targets
from records.tables import Row, Tables, with_seeds

SHOWN: dict[str, Any] = {  # what the layer of a rival is shown of the rows of the digits
    "one vector": lambda h: h[:, :1].expand_as(h),
    "one vector of 128 numbers": lambda h: h[:, :1].expand_as(h),
    "plain mean": lambda h: h.mean(1, keepdim=True).expand_as(h),
}
OTHERS = "a score for each step", "untrained reader", "no reader"


class Speaker(nn.Module):
    """The page's model; ``kind`` says what its layer is shown, and how it scores."""

    def __init__(self, kind: str, places: int) -> None:
        super().__init__()
        d, self.kind = 128 if "128" in kind else 64, kind
        self.digit, self.place = nn.Embedding(10, d), nn.Embedding(places, d)
        self.reader, self.step = (nn.GRU(d, d, batch_first=True) for _ in range(2))
        self.word, self.mix = nn.Embedding(len(WORDS), d), nn.Linear(2 * d, d)
        self.score = make_score("concat" if kind == "concat" else "dot", d)
        self.path = nn.Parameter(torch.zeros(2 * places, places))  # a score for each step
        self.output = nn.Linear(d, len(WORDS))
        self.reader.requires_grad_(kind != "untrained reader")

    def forward(self, digits: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of each word, and the weights with which it was predicted."""
        x = self.digit(digits) + self.place.weight
        h = x if self.kind == "no reader" else self.reader(x.flip(1))[0].flip(1)
        h = SHOWN.get(self.kind, lambda h: h)(h)
        s = self.step(self.word(before))[0]
        scores = self.score.scores(s, self.score.keys(h))
        scores = self.path.expand(len(h), -1, -1) if self.kind == OTHERS[0] else scores
        weights = masked_softmax(scores, digits[:, None] > 0)
        mixed = torch.tanh(self.mix(torch.cat([weights @ h, s], -1)))
        return self.output(mixed), weights


def train_at_once(model: str, places: int, seed: int) -> Row:
    """Train one model as on the page; its share of right numbers, and where it looks."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    speaker = Speaker(model, places)
    adam = torch.optim.Adam([p for p in speaker.parameters() if p.requires_grad], lr=0.005)
    for step in range(501):
        said, _ = targets(digits := numbers(64, places))
        loss: Any = F.cross_entropy(speaker(digits, F.pad(said, (1, 0))[:, :-1])[0].mT, said)
        adam.zero_grad()
        loss.backward()
        adam.param_groups[0]["lr"] = 0.005 * (1 - step / 500)
        adam.step()
    row: Row = {"model": model, "places": places, "seed": seed}
    orders = (torch.arange(places) % 9 + 1)[torch.rand(1000, places).argsort(1)]
    for name, digits in (("orders", orders), ("others", numbers(1000, places))):
        said, columns = targets(digits)
        with torch.no_grad():
            logits, weights = speaker(digits, F.pad(said, (1, 0))[:, :-1])
        row[name] = round((logits.argmax(-1) == said).all(1).double().mean().item(), 3)
        looks = (weights.argmax(-1) == columns)[columns >= 0].double().mean().item()
        row[f"looks_{name}"] = round(looks, 4)
    return row


def make_at_once(tables: Tables) -> None:
    """Numbers read aloud by attention after the step, with two scores, and by six rivals.

    It is the refuter of lesson 4: what a cheaper model gets right, and a longer number. A rival
    fails that is within ten points of what a model without a source can reach: 10.1 %.
    """
    seeds = dict.fromkeys([*SHOWN, *OTHERS], 5) | {"dot": 20}
    tasks = [(model, 12, seed) for model, seed in with_seeds(seeds)]
    tasks += [("dot", 15, seed) for seed in range(1, 6)]
    tables.extend("at_once", train_at_once, tasks, ["model", "places", "seed"], workers=1)

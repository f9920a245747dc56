"""The record of lesson 3: numbers read aloud, as on its page, by attention and by its rivals.

Tested on orders of the same digits, of which a plain mean can get one of a thousand right.
"""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.bahdanau import AdditiveAttention
from records.tables import Row, Tables

UNITS = ["", *"one two three four five six seven eight nine".split()]  # noqa: SIM905
TENS = ["", *"ten twenty thirty forty fifty sixty seventy eighty ninety".split()]  # noqa: SIM905
SCALES = ["trillion", "billion", "million", "thousand", "."]
WORDS = [".", *UNITS[1:], *TENS[1:], "hundred", "and", *SCALES[:-1]]
STEPS, RATE = 200, 5e-3
WIDTH = {"one vector of 256 numbers": 256}  # of the others: 64


def read_aloud(digits: list[int]) -> list[tuple[str, int]]:
    """The words of a number, and the column of the digit that each comes from, or −1."""
    said = []
    for i, scale in zip(range(0, len(digits), 3), SCALES[-len(digits) // 3 :], strict=True):
        h, t, o = digits[i : i + 3]
        said += [(UNITS[h], i), ("hundred", -1)] * (h > 0) + [(UNITS[o], i + 2)] * (o > 0)
        said += [("and", -1)] * (o > 0 and t > 0) + [(TENS[t], i + 1)] * (t > 0)
        said += [(scale, -1)] * (h + t + o > 0 or scale == ".")
    return said


def targets(digits: Int[Tensor, "batch place"]) -> tuple[Tensor, Tensor]:
    """The ids of the words of numbers, padded by full stops, and the columns of their digits."""
    said = [read_aloud(row) + [(".", -1)] * (2 * len(row)) for row in digits.tolist()]
    said = [row[: 2 * digits.size(1)] for row in said]
    words = torch.tensor([[WORDS.index(word) for word, _ in row] for row in said])
    return words, torch.tensor([[column for _, column in row] for row in said])


def numbers(count: int, places: int) -> Int[Tensor, "count place"]:
    """Numbers of one to ``places`` digits, with zeros in front."""
    digits, first = torch.randint(0, 10, (count, places)), torch.randint(0, places, (count, 1))
    digits.scatter_(1, first, torch.randint(1, 10, (count, 1)))
    return digits * (torch.arange(places) >= first)


class Speaker(nn.Module):
    """The page's decoder; ``kind`` says what it looks at, and how."""

    def __init__(self, kind: str, places: int) -> None:
        super().__init__()
        d, self.kind, self.places = WIDTH.get(kind, 64), kind, places
        width = 64 * places if kind == "digits side by side" else d
        self.digit, self.place = nn.Embedding(10, 64), nn.Embedding(places, 64)
        self.word, self.cell = nn.Embedding(len(WORDS), d), nn.GRUCell(d + width, d)
        self.reader, self.score = nn.GRU(64, d, batch_first=True), AdditiveAttention(d, width, d)
        self.path = nn.Parameter(torch.zeros(2 * places, places))  # a score for each step
        self.output = nn.Linear(d + width, len(WORDS))
        if kind == "plain mean":
            nn.init.zeros_(self.score.v.weight)
        self.score.requires_grad_(kind not in ("plain mean", "untrained score"))

    def forward(self, digits: Tensor, said: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The logits of each word, and the weights with which it was predicted."""
        h, mask = self.digit(digits) + self.place.weight, digits > 0
        if self.kind.startswith("one vector"):
            h, mask = self.reader(h)[1].transpose(0, 1), mask.any(1, keepdim=True)
        elif self.kind == "digits side by side":
            h, mask = h.flatten(1)[:, None], mask.any(1, keepdim=True)
        state = word = h.new_zeros(len(h), self.cell.hidden_size)
        steps = []
        for t in range(2 * self.places):
            scores = self.score.scores(state[:, None], self.score.keys(h))[:, 0]
            scores = self.path[t] if self.kind == "a score for each step" else scores
            weights = scores.expand(len(h), -1).masked_fill(~mask, -torch.inf).softmax(-1)
            context = (weights[:, None] @ h)[:, 0]
            state = self.cell(torch.cat([word, context], 1), state)
            logits = self.output(torch.cat([state, context], 1))
            word = self.word(logits.argmax(1) if said is None else said[:, t])
            steps.append((logits, weights))
        logits, weights = (torch.stack(each, 1) for each in zip(*steps, strict=True))
        return logits, weights


def train_speaker(model: str, places: int, seed: int) -> Row:
    """Train one model as on the page; how many of a thousand it reads right, and where it looks."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    speaker = Speaker(model, places)
    adam = torch.optim.Adam([p for p in speaker.parameters() if p.requires_grad], lr=RATE)
    for step in range(STEPS + 1):
        digits = numbers(64, places)
        said, _ = targets(digits)
        loss: Any = F.cross_entropy(speaker(digits, said)[0].mT, said)
        adam.zero_grad()
        loss.backward()
        adam.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
        adam.step()
    row: Row = {"model": model, "places": places, "seed": seed}
    orders = (torch.arange(places) % 9 + 1)[torch.rand(1000, places).argsort(1)]
    for name, digits in (("orders", orders), ("others", numbers(1000, places))):
        said, columns = targets(digits)
        with torch.no_grad():
            logits, weights = speaker(digits)
        row[name] = round((logits.argmax(-1) == said).all(1).double().mean().item(), 3)
        looks = (weights.argmax(-1) == columns)[columns >= 0].double().mean().item()
        row[f"looks_{name}"] = round(looks, 4) if weights.size(-1) == places else ""
    return row


def make_reading_aloud(tables: Tables) -> None:
    """A reader of numbers with attention, and six without it or with less, of twelve digits.

    It is the refuter of lesson 3: what a cheaper model gets right. A rival fails that is within ten
    points of what the plain mean can reach: 10.1 %.
    """
    rivals = ["plain mean", "untrained score", "a score for each step", "digits side by side"]
    rivals += ["one vector", "one vector of 256 numbers"]
    tasks = [("attention", 12, seed) for seed in range(1, 21)]
    tasks += [(rival, 12, seed) for rival in rivals for seed in range(1, 6)]
    tasks += [(model, 15, s) for model in ("attention", "one vector") for s in range(1, 4)]
    tables.extend("reading_aloud", train_speaker, tasks, ["model", "places", "seed"], workers=1)

"""The record of lesson 9: whose is it? One head that asks a text, as on the page, and its rivals.

A rival that cannot match a thing with its owner guesses among the four owners of the text.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention, SelfAttention
from records.tables import Row, Tables, with_seeds

KINDS, WIDTH, STEPS = 16, 64, 300  # a rival is right if it passes 35 %: one in four, and ten points
LONGER = "question and every word, 1,200 steps"
SEEDS = {
    "cross-attention": 20,
    "no text": 5,
    "roles exchanged": 5,
    "roles exchanged, and a network": 5,
    "question and mean of the text": 5,
    "question and every word": 5,
    LONGER: 5,
    "both in one line": 5,
}


class Answerer(nn.Module):
    """Names the owner of each thing that is asked for, from a text of owners and things."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self.model, network = model, "network" in model or model.startswith("question")
        self.words, self.left = nn.Embedding(1 + 2 * KINDS, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.look = SelfAttention(WIDTH, WIDTH, WIDTH if network else KINDS)
        read = nn.Sequential(nn.LazyLinear(512), nn.ReLU(), nn.Linear(512, KINDS))
        self.read = read if network else nn.Identity()

    def forward(self, question: Tensor, text: Tensor) -> Tensor:
        """Give logits (batch, question, name) for questions and texts (batch, question or word)."""
        x, words = self.words(question), self.words(text)
        memory = words + self.left(words.roll(1, dims=1))
        if self.model.startswith("question"):
            rows = memory.mean(1) if "mean" in self.model else memory[:, :8].flatten(1)
            rows = rows[:, None].expand(-1, x.size(1), -1)
            return self.read(torch.cat([x, rows], -1))
        if self.model == "both in one line":
            return self.look(torch.cat([memory, x], 1))[:, -x.size(1) :]
        asks = memory if self.model.startswith("roles") else x
        asked = memory if self.model == "cross-attention" else x
        q, k, v = self.look.query(asks), self.look.key(asked), self.look.value(asked)
        return self.read(ScaledDotProductAttention()(q, k, v))


def texts(number: int, pairs: int) -> tuple[Tensor, Tensor, Tensor]:
    """Texts, as many questions as words, and the owners (all (number, 2 * pairs))."""
    owner, thing = (torch.rand(number, KINDS).argsort(1)[:, :pairs] for _ in range(2))
    asked = torch.randint(pairs, (number, 2 * pairs))
    text = torch.stack([1 + owner, 1 + KINDS + thing], -1).flatten(1)
    return text, 1 + KINDS + thing.gather(1, asked), owner.gather(1, asked)


def train_whose(model: str, seed: int) -> Row:
    """Train one model; its shares of right answers to new texts of eight and of 24 words."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    built, (text, question, _) = Answerer(model), texts(1, 4)
    built(question, text)  # a lazy layer learns its width
    adam = torch.optim.Adam(built.parameters(), lr=0.005)
    for _ in range(1200 if model == LONGER else STEPS):
        text, question, owner = texts(64, 4)
        loss: Any = F.cross_entropy(built(question, text).mT, owner)
        adam.zero_grad()
        loss.backward()
        adam.step()
    row: Row = {"model": model, "seed": seed}
    for pairs in (4, 12):
        text, question, owner = texts(500, pairs)
        with torch.no_grad():
            right = built(question, text).argmax(-1) == owner
        row[f"right_{2 * pairs}"] = round(right.double().mean().item(), 3)
    return row


def make_whose(tables: Tables) -> None:
    """One head that asks a text who owns a thing, and seven models that ask otherwise, or nobody.

    It is the refuter of lesson 9: what a cheaper model gets right, and a longer text.
    """
    tables.extend("whose", train_whose, with_seeds(SEEDS), ["model", "seed"])

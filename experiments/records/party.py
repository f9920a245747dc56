"""The record of the party of lesson 5, trained as on its page, and rivals of self-attention.

Whoever knows the own card and the mean of all cards can only guess among seven gifts.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import SelfAttention
from records.tables import Row, Tables, with_seeds

KINDS, STEPS = 16, 300  # a rival is right if it passes 24.3 %: one in seven, and ten points
SHOWN: dict[str, Any] = {  # what the network of a rival is shown for each child
    "own card": lambda x: x,
    "mean of all cards": lambda x: x.mean(1, keepdim=True).expand_as(x),
    "own card and mean": lambda x: torch.cat([x, x.mean(1, keepdim=True).expand_as(x)], -1),
    "own card and every card": lambda x: torch.cat(
        [x, x[:, None, :8].flatten(2).expand(-1, x.size(1), -1)], -1
    ),
}
HEADS = {"self-attention": 16, "frozen W_Q and W_K": 16, "frozen, d_k = 256": 256, "one matrix": 16}


def build(model: str) -> nn.Module:
    """A model from what is shown of cards (batch, child, width) to logits (batch, child, gift)."""
    if model in SHOWN:
        return nn.Sequential(nn.LazyLinear(512), nn.ReLU(), nn.Linear(512, KINDS))
    head = SelfAttention(3 * KINDS, HEADS[model], KINDS)
    head.key = head.query if model == "one matrix" else head.key
    for matrix in (head.query, head.key):
        matrix.requires_grad_(not model.startswith("frozen"))
    return head


def parties(number: int, children: int) -> tuple[Tensor, Tensor]:
    """Cards (number, child, 48) of zeros and ones, and the answers (number, child)."""
    name, gift = (torch.rand(number, KINDS).argsort(1)[:, :children] for _ in range(2))
    cards = F.one_hot(torch.stack([name, name.roll(1, 1), gift], -1), KINDS).flatten(2).float()
    rows, order = torch.arange(number)[:, None], torch.rand(number, children).argsort(1)
    return cards[rows, order], gift.roll(1, 1)[rows, order]


def train_party(model: str, seed: int) -> Row:
    """Train one model; its shares of right answers at new parties of eight and of twelve."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    built, show = build(model), SHOWN.get(model, lambda x: x)
    built(show(parties(1, 8)[0]))  # a lazy layer learns its width
    adam = torch.optim.Adam([p for p in built.parameters() if p.requires_grad], lr=0.02)
    for _ in range(STEPS):
        cards, answers = parties(64, 8)
        loss: Any = F.cross_entropy(built(show(cards)).mT, answers)
        adam.zero_grad()
        loss.backward()
        adam.step()
    row: Row = {"model": model, "seed": seed}
    for children in (8, 12):
        cards, answers = parties(125, children)
        right = (built(show(cards)).argmax(-1) == answers).double().mean().item()
        row[f"right_{children}"] = round(right, 3)
    return row


def make_party(tables: Tables) -> None:
    """One head that answers at a party, and seven models without attention or with less of it.

    It is the refuter of lesson 5: what a cheaper model gets right, and a larger party.
    """
    seeds = dict.fromkeys([*HEADS, *SHOWN], 5) | {"self-attention": 20}
    tables.extend("party", train_party, with_seeds(seeds), ["model", "seed"])

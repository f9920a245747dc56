import torch
from torch import nn

from annotated_transformer.attention import SelfAttention
from transformer_workbook.chapters.self_attention import proofs


class Unscaled(SelfAttention):
    def forward(self, x):
        weights = (self.query(x) @ self.key(x).mT).softmax(dim=-1)
        return weights @ self.value(x)


class Party(nn.Module):
    """A model that has learned nothing, and asks with one matrix or with itself."""

    def __init__(self, attention):
        super().__init__()
        self.name, self.drawn, self.gift = (nn.Embedding(16, 32) for _ in range(3))
        self.attention, self.output = attention, nn.Linear(32, 16)

    def forward(self, cards):
        x = sum(table(c) for table, c in zip(
            (self.name, self.drawn, self.gift), cards.unbind(dim=-1), strict=True
        ))  # fmt: skip
        return self.output(self.attention(x))


def by_hand():
    matrices = torch.eye(3, 2), torch.eye(3, 2), torch.eye(3)
    proofs.by_hand(SelfAttention, torch.eye(3), matrices, torch.eye(3))


def self_attention():
    proofs.self_attention(SelfAttention, Unscaled)


def whom_a_child_asks():
    models = {"three matrices": Party(SelfAttention(32, 16, 32)), "X itself": Party(nn.Identity())}
    cards = torch.stack([torch.arange(8), torch.arange(8).roll(1), torch.arange(8)], dim=-1)
    proofs.whom_a_child_asks(models, cards[None].repeat(20, 1, 1), torch.zeros(20, 8, dtype=int))


REFUTED = {
    by_hand: "that of your class differs from the output by hand",
    self_attention: "the package differs from the outputs of a loop",
    whom_a_child_asks: "this is not true: children who answer right",
}

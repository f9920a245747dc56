from torch import nn

from annotated_transformer.experts import Experts, Routing
from transformer_workbook.chapters.experts import proofs


class Unnormalised(nn.Module):
    """Its weights are probabilities, whose sum over the chosen experts is below 1."""

    def __init__(self, d_model, d_ff, number, k):
        super().__init__()
        self.k, self.router = k, nn.Linear(d_model, number, bias=False)
        self.experts = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(number))

    def forward(self, x):
        p = self.router(x).softmax(dim=-1)
        kept = p.where(p >= p.topk(self.k).values[:, -1:], 0.0)
        return sum(g[:, None] * expert(x) for g, expert in zip(kept.T, self.experts, strict=True))


def experts():
    proofs.experts(Unnormalised, Experts)


def imbalance():
    """It is not multiplied by the number of experts."""
    proofs.imbalance(
        lambda p, chosen: chosen.flatten().bincount() / chosen.numel() @ p.mean(0), Routing
    )


REFUTED = {
    experts: "your class differs from one token at a time by",
    imbalance: "yours differs from the package by",
}

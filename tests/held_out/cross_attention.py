"""Answers of readers who saw only the statement."""
import torch
from torch import nn

from annotated_transformer.tokens import PAD
from answers import right, wrong


@right("cross_shapes")
def _(batch, src, tgt, d_model, num_heads):
    d = d_model // num_heads
    return [
        (batch, num_heads, tgt, d),
        (batch, num_heads, src, d),
        (batch, num_heads, tgt, src),
        (batch, tgt, d_model),
    ]








@right("cross_mask")
def _(src, tgt_in):
    return (src != PAD)[:, None, None, :].expand(-1, 1, tgt_in.size(1), -1)








@right("turned_attention")
def _(x, memory):
    scores = memory @ x.mT / x.size(-1) ** 0.5
    return scores.softmax(-2).mT @ memory


@wrong("turned_attention", "turns the scores, but keeps the second .mT")
def _(x, memory):
    scores = x @ memory.mT / x.size(-1) ** 0.5
    return scores.softmax(-1).mT @ memory






right("unchanged_by")("ADF")
wrong("unchanged_by", "G shifts as F does, so thought harmless")("ADFG")
wrong("unchanged_by", "B is an order as A")("ABDF")
wrong("unchanged_by", "adding to the keys must change the scores")("AD")


@right("memory_gradient")
def _(X, M, A, G):
    as_values = A.T @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(-1, keepdim=True))
    as_keys = S.T @ X
    return as_values, B, S, as_keys, as_values + as_keys






@wrong("memory_gradient", "the values' gradient A G without a transpose, shapes do not fit")
def _(X, M, A, G):
    first = A @ G
    B = G @ M.T
    S = A * (B - (A * B).sum(1, keepdim=True))
    return first, B, S, S.T @ X, first + S.T @ X


@right("source_reader")
class SourceReader(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def read(self, memory, mask):
        self.keys, self.values = self.split(self.key(memory)), self.split(self.value(memory))
        self.mask = mask

    def forward(self, x):
        q = self.split(self.query(x))
        scores = q @ self.keys.mT / q.size(-1) ** 0.5
        weights = scores.masked_fill(~self.mask, -torch.inf).softmax(-1)
        return self.output((weights @ self.values).transpose(1, 2).flatten(2))







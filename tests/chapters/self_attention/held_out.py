import math

import torch
from torch import nn

from answers import wrong


wrong("nearly_one_key", "first above a half, not above nine tenths")(16)
wrong("nearly_one_key", "the size at which it is practically 1")(1024)
wrong("nearly_one_key", "gives the weight, not the width")(0.9)


@wrong("batched_attention", "turns the weights as well as the softmax axis")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1).transpose(1, 2) @ value


@wrong("self_attention_layer", "transposes with .T, which turns all axes")
class MySelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.d_k = d_k

    def forward(self, x):
        scores = self.query(x) @ self.key(x).T / math.sqrt(self.d_k)
        return torch.softmax(scores, dim=-1) @ self.value(x)

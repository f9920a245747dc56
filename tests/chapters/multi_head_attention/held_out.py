import torch
from torch import nn
from torch.nn import functional as F

from answers import wrong


@wrong("head_contributions", "heads times the whole matrix, widths do not fit")
def _(heads, W_O):
    return torch.stack([head @ W_O for head in heads])


wrong("mixing_cuts", "thinks that an interleaved cut mixes, too")("ADE")
wrong("mixing_cuts", "only plain reshape is suspicious")("A")
wrong("mixing_cuts", "the cuts that are right instead of those that mix")("BCEF")


def layers(self, d_model, num_heads, num_groups):
    self.num_heads, self.num_groups = num_heads, num_groups
    self.d = d_model // num_heads
    self.query = nn.Linear(d_model, d_model)
    self.key = nn.Linear(d_model, num_groups * self.d)
    self.value = nn.Linear(d_model, num_groups * self.d)
    self.output = nn.Linear(d_model, d_model)


@wrong("grouped_attention", "groups as a broadcast axis, but the query cut groups last")
class MyGroupedAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_groups):
        super().__init__()
        layers(self, d_model, num_heads, num_groups)

    def forward(self, x):
        b, t, _ = x.shape
        g, m = self.num_groups, self.num_heads // self.num_groups
        q = self.query(x).view(b, t, m, g, self.d).permute(0, 3, 2, 1, 4)
        k = self.key(x).view(b, t, g, 1, self.d).permute(0, 2, 3, 1, 4)
        v = self.value(x).view(b, t, g, 1, self.d).permute(0, 2, 3, 1, 4)
        w = (q @ k.mT / self.d**0.5).softmax(-1)
        heads = (w @ v).permute(0, 3, 1, 2, 4).reshape(b, t, -1)
        return self.output(heads)


@wrong("grouped_attention", "as many key heads as query heads, the weights do not fit")
class MyGroupedAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_groups):
        super().__init__()
        self.h, self.d = num_heads, d_model // num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (
            f(x).view(b, t, self.h, self.d).transpose(1, 2)
            for f in (self.query, self.key, self.value)
        )
        w = (q @ k.mT / self.d**0.5).softmax(-1)
        return self.output((w @ v).transpose(1, 2).flatten(2))


@wrong("multi_head_layer", "the heads stand before the batch in the view")
class _(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def split(self, x):
        batch, word, _ = x.shape
        x = x.view(self.heads, batch, word, -1)
        return x.transpose(0, 1)

    def forward(self, query, key, value):
        q = self.split(self.query(query))
        k = self.split(self.key(key))
        v = self.split(self.value(value))
        each = F.scaled_dot_product_attention(q, k, v)
        merged = each.transpose(1, 2).flatten(2)
        return self.output(merged)

"""Answers of readers who saw only the statement."""
import torch
import torch.nn.functional as F
from torch import nn

from answers import right, wrong


@right("rms_norm")
def _(x, gain, eps):
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps) * gain








@right("stack_derivatives")
def _(derivative, layers):
    return derivative**layers, (1 + derivative) ** layers








def normalise(x):
    return F.layer_norm(x, x.shape[-1:])


@right("pre_norm_stack")
def _(x, W):
    for matrix in W:
        x = x + torch.relu(normalise(x) @ matrix)
    return normalise(x)








right("pre_norm_growth")(2)
wrong("pre_norm_growth", "grows with the number of layers")(4)
wrong("pre_norm_growth", "the squared length, not the length")(16)
wrong("pre_norm_growth", "normalised anyway, so it stays")(1)


@right("layer_norm_derivative")
def _(x, g):
    d = len(x)
    sigma = x.std(correction=0)
    n = (x - x.mean()) / sigma
    dn = (torch.eye(d, dtype=x.dtype) - 1 / d - torch.outer(n, n) / d) / sigma
    return n / d, dn, g @ dn








right("keeps_words_apart")(100)
wrong("keeps_words_apart", "a factor for smaller matrices, not larger")(0.1)
wrong("keeps_words_apart", "the matrices as they were")(1)
wrong("keeps_words_apart", "twice as large, thought to be enough")(2)


@right("encoder_layer")
class MyEncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm_first = norm_first

    def attend(self, x, hidden):
        return self.self_attn(x, x, x, key_padding_mask=hidden)[0]

    def feed(self, x):
        return self.linear2(self.linear1(x).relu())

    def forward(self, x, hidden):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), hidden)
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attend(x, hidden))
        return self.norm2(x + self.feed(x))







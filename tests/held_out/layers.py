"""Answers of readers who saw only the statement."""
import torch
import torch.nn.functional as F
from torch import nn

from answers import right, wrong


@right("rms_norm")
def _(x, gain, eps):
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps) * gain


@wrong("rms_norm", "eps added outside the root")
def _(x, gain, eps):
    return x / (torch.sqrt((x**2).mean(-1, keepdim=True)) + eps) * gain


@wrong("rms_norm", "the mean subtracted as in a layer normalisation")
def _(x, gain, eps):
    x = x - x.mean(-1, keepdim=True)
    return gain * x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps)


@wrong("rms_norm", "the sum of squares rather than their mean")
def _(x, gain, eps):
    return gain * x / torch.sqrt((x**2).sum(-1, keepdim=True) + eps)


@right("stack_derivatives")
def _(derivative, layers):
    return derivative**layers, (1 + derivative) ** layers


@wrong("stack_derivatives", "a sum over layers with shortcuts")
def _(derivative, layers):
    return derivative**layers, 1 + layers * derivative


@wrong("stack_derivatives", "one shortcut around the whole stack")
def _(derivative, layers):
    return derivative**layers, 1 + derivative**layers


@wrong("stack_derivatives", "the two numbers in the other order")
def _(derivative, layers):
    return (1 + derivative) ** layers, derivative**layers


def normalise(x):
    return F.layer_norm(x, x.shape[-1:])


@right("pre_norm_stack")
def _(x, W):
    for matrix in W:
        x = x + torch.relu(normalise(x) @ matrix)
    return normalise(x)


@wrong("pre_norm_stack", "the shortcut is still normalised, only the end repaired")
def _(x, W):
    for matrix in W:
        x = normalise(x)
        x = x + torch.relu(x @ matrix)
    return normalise(x)


@wrong("pre_norm_stack", "no normalisation at the end")
def _(x, W):
    for matrix in W:
        x = x + torch.relu(normalise(x) @ matrix)
    return x


@wrong("pre_norm_stack", "made into post-norm")
def _(x, W):
    for matrix in W:
        x = normalise(x + torch.relu(x @ matrix))
    return x


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


@wrong("layer_norm_derivative", "the unbiased deviation")
def _(x, g):
    d = len(x)
    sigma = x.std()
    n = (x - x.mean()) / sigma
    dn = (torch.eye(d) - 1 / d - torch.outer(n, n) / d) / sigma
    return n / d, dn, g @ dn


@wrong("layer_norm_derivative", "sigma as a constant: no product of n_i and n_j")
def _(x, g):
    d = len(x)
    sigma = x.std(correction=0)
    n = (x - x.mean()) / sigma
    dn = (torch.eye(d) - 1 / d) / sigma
    return n / d, dn, dn @ g


@wrong("layer_norm_derivative", "n_i squared instead of n_i n_j")
def _(x, g):
    d = len(x)
    sigma = x.std(correction=0)
    n = (x - x.mean()) / sigma
    dn = (torch.eye(d) - 1 / d - n[:, None] ** 2 / d) / sigma
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


@wrong("encoder_layer", "the mask turned: padding is what is attended to")
class MyEncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x, hidden):
        y = self.norm1(x) if self.norm_first else x
        x = x + self.self_attn(y, y, y, key_padding_mask=~hidden)[0]
        if not self.norm_first:
            x = self.norm1(x)
        y = self.norm2(x) if self.norm_first else x
        x = x + self.linear2(torch.relu(self.linear1(y)))
        return x if self.norm_first else self.norm2(x)


@wrong("encoder_layer", "pre-norm reads raw keys and values, only the query is normalised")
class MyEncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x, hidden):
        if self.norm_first:
            x = x + self.self_attn(self.norm1(x), x, x, key_padding_mask=hidden)[0]
            return x + self.linear2(torch.relu(self.linear1(self.norm2(x))))
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(x + self.linear2(torch.relu(self.linear1(x))))


@wrong("encoder_layer", "hidden passed as attn_mask")
class MyEncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm_first = norm_first

    def forward(self, x, hidden):
        def attend(y):
            return self.self_attn(y, y, y, attn_mask=hidden)[0]

        def feed(y):
            return self.linear2(torch.relu(self.linear1(y)))

        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + feed(self.norm2(x))
        x = self.norm1(x + attend(x))
        return self.norm2(x + feed(x))

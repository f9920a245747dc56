"""Answers of readers who saw only the statement."""
import math

import torch
from torch import nn
from torch.autograd.functional import jacobian
from torch.nn import functional as F

from answers import right, wrong

torch.set_default_dtype(torch.float64)


def normalise(x):  # as the chapter is understood: each vector to mean 0 and variance 1
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + 1e-5)


# ---------------------------------------------------------------- 1 rms norm


@right("rms_norm")
def _(x, gain, eps):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain


@right("rms_norm")
def _(x, gain, eps):
    return F.rms_norm(x, (x.size(-1),), gain, eps)


@right("rms_norm")
def _(x, gain, eps):
    d = x.size(-1)
    scale = (torch.einsum("...i,...i->...", x, x) / d + eps).rsqrt()
    return x * scale.unsqueeze(-1) * gain


@wrong("rms_norm", "eps outside the root")
def _(x, gain, eps):
    return x / (torch.sqrt(x.pow(2).mean(-1, keepdim=True)) + eps) * gain


@wrong("rms_norm", "subtracts the mean as LayerNorm does")
def _(x, gain, eps):
    x = x - x.mean(-1, keepdim=True)
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gain


@wrong("rms_norm", "divides by the standard deviation, mean kept in the numerator")
def _(x, gain, eps):
    return gain * x / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + eps)


@wrong("rms_norm", "sum of squares, not their mean")
def _(x, gain, eps):
    return gain * x / torch.sqrt((x**2).sum(-1, keepdim=True) + eps)


@wrong("rms_norm", "the axis is written as 1")
def _(x, gain, eps):
    return gain * x / torch.sqrt((x**2).mean(1, keepdim=True) + eps)


@wrong("rms_norm", "forgets keepdim")
def _(x, gain, eps):
    return gain * x / torch.sqrt((x**2).mean(-1) + eps)


@wrong("rms_norm", "one mean over all axes")
def _(x, gain, eps):
    return gain * x / torch.sqrt((x**2).mean() + eps)


@wrong("rms_norm", "forgets the gain")
def _(x, gain, eps):
    return x / torch.sqrt((x**2).mean(dim=-1, keepdim=True) + eps)


@wrong("rms_norm", "eps squared")
def _(x, gain, eps):
    return gain * x / torch.sqrt((x**2).mean(dim=-1, keepdim=True) + eps**2)


@wrong("rms_norm", "no root")
def _(x, gain, eps):
    return gain * x / ((x**2).mean(dim=-1, keepdim=True) + eps)


@wrong("rms_norm", "eps as a lower bound")
def _(x, gain, eps):
    return gain * x / (x**2).mean(dim=-1, keepdim=True).sqrt().clamp(min=eps)


# ---------------------------------------------------------------- 2 stack derivatives


@right("stack_derivatives")
def _(derivative, layers):
    return derivative**layers, (1 + derivative) ** layers


@right("stack_derivatives")
def _(derivative, layers):
    without = with_ = 1.0
    for _ in range(layers):
        without *= derivative
        with_ *= derivative + 1
    return [without, with_]


@right("stack_derivatives")
def _(derivative, layers):
    return (
        math.prod([derivative] * layers),
        sum(math.comb(layers, k) * derivative**k for k in range(layers + 1)),
    )


@wrong("stack_derivatives", "one shortcut around the whole stack")
def _(derivative, layers):
    return derivative**layers, 1 + derivative**layers


@wrong("stack_derivatives", "the other order")
def _(derivative, layers):
    return (1 + derivative) ** layers, derivative**layers


@wrong("stack_derivatives", "adds the layers up")
def _(derivative, layers):
    return layers * derivative, layers * (1 + derivative)


@wrong("stack_derivatives", "only the paths through at most one layer")
def _(derivative, layers):
    return derivative**layers, 1 + layers * derivative


@wrong("stack_derivatives", "takes the sign for irrelevant")
def _(derivative, layers):
    d = abs(derivative)
    return d**layers, (1 + d) ** layers


@wrong("stack_derivatives", "shortcut keeps 1 - F'")
def _(derivative, layers):
    return derivative**layers, (1 - derivative) ** layers


@wrong("stack_derivatives", "one layer too few")
def _(derivative, layers):
    return derivative ** (layers - 1), (1 + derivative) ** (layers - 1)


@wrong("stack_derivatives", "the example hard-coded")
def _(derivative, layers):
    return 1 / 16, 1 / 16


@wrong("stack_derivatives", "a shortcut doubles the derivative")
def _(derivative, layers):
    return derivative**layers, (2 * derivative) ** layers


@wrong("stack_derivatives", "gradient with a shortcut is 1 for sure")
def _(derivative, layers):
    return derivative**layers, 1.0


# ---------------------------------------------------------------- 3 pre-norm stack


@right("pre_norm_stack")
def _(x, W):
    for matrix in W:
        x = x + torch.relu(normalise(x) @ matrix)
    return normalise(x)


@right("pre_norm_stack")
def _(x, W):
    for i in range(len(W)):
        read = F.layer_norm(x, x.shape[-1:])
        x = torch.einsum("...i,ij->...j", read, W[i]).clamp(min=0) + x
    return F.layer_norm(x, x.shape[-1:])


@wrong("pre_norm_stack", "fixes the shortcut only")
def _(x, W):
    for matrix in W:
        x = x + torch.relu(normalise(x) @ matrix)
    return x


@wrong("pre_norm_stack", "fixes the end only")
def _(x, W):
    for matrix in W:
        x = normalise(x)
        x = x + torch.relu(x @ matrix)
    return normalise(x)


@wrong("pre_norm_stack", "post-norm")
def _(x, W):
    for matrix in W:
        x = normalise(x + torch.relu(x @ matrix))
    return x


@wrong("pre_norm_stack", "normalises the sub-layer's output too")
def _(x, W):
    for matrix in W:
        x = x + normalise(torch.relu(normalise(x) @ matrix))
    return normalise(x)


@wrong("pre_norm_stack", "return within the loop")
def _(x, W):
    for matrix in W:
        x = x + torch.relu(normalise(x) @ matrix)
        return normalise(x)


@wrong("pre_norm_stack", "normalises at the end of every layer, in the loop")
def _(x, W):
    for matrix in W:
        x = x + torch.relu(normalise(x) @ matrix)
        x = normalise(x)
    return x


@wrong("pre_norm_stack", "all shortcuts come from the stack's input")
def _(x, W):
    shortcut = x
    for matrix in W:
        x = shortcut + torch.relu(normalise(x) @ matrix)
    return normalise(x)


@wrong("pre_norm_stack", "ReLU over the sum")
def _(x, W):
    for matrix in W:
        x = torch.relu(x + normalise(x) @ matrix)
    return normalise(x)


@wrong("pre_norm_stack", "transposes the matrix as nn.Linear does")
def _(x, W):
    for matrix in W:
        x = x + F.linear(normalise(x), matrix).relu()
    return normalise(x)


@wrong("pre_norm_stack", "normalises over all axes")
def _(x, W):
    norm = lambda x: (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()
    for matrix in W:
        x = x + torch.relu(norm(x) @ matrix)
    return norm(x)


@wrong("pre_norm_stack", "drops the shortcut while tidying up")
def _(x, W):
    for matrix in W:
        y = normalise(x)
        x = torch.relu(y @ matrix)
    return normalise(x)


# ---------------------------------------------------------------- 4 growth (a value)

right("pre_norm_growth")(2)
wrong("pre_norm_growth", "expects the sum to grow with the number of layers")(4)
wrong("pre_norm_growth", "the square instead of the root")(16)
wrong("pre_norm_growth", "answers for twice as many layers")(math.sqrt(2))
wrong("pre_norm_growth", "believes that normalisation keeps the size")(1)
wrong("pre_norm_growth", "compares 50 with 400 layers")(3)
wrong("pre_norm_growth", "the size itself")(130)
wrong("pre_norm_growth", "difference of 400 and 100 layers")(65)
wrong("pre_norm_growth", "the variance's factor for two quadruplings, rounded")(8)

# ---------------------------------------------------------------- 5 layer norm derivative


@right("layer_norm_derivative")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    jac = (torch.eye(d) - 1 / d - torch.outer(n, n) / d) / sigma
    return n / d, jac, g @ jac


@right("layer_norm_derivative")
def _(x, g):
    d = x.numel()
    mu = sum(x) / d
    sigma = (sum((xi - mu) ** 2 for xi in x) / d) ** 0.5
    n = [(xi - mu) / sigma for xi in x]
    rows = [[((i == j) - 1 / d - n[i] * n[j] / d) / sigma for j in range(d)] for i in range(d)]
    jac = torch.tensor(rows)
    n = torch.stack(n)
    return n / d, jac, (g - g.mean() - n * (g * n).mean()) / sigma


@right("layer_norm_derivative")
def _(x, g):
    std = lambda x: x.std(correction=0)
    norm = lambda x: (x - x.mean()) / std(x)
    jac = jacobian(norm, x)
    return [jacobian(std, x), jac, jac.T @ g]


@wrong("layer_norm_derivative", "standard deviation with d - 1")
def _(x, g):
    d = len(x)
    sigma = x.std()
    n = (x - x.mean()) / sigma
    jac = (torch.eye(d) - 1 / d - n[:, None] * n / d) / sigma
    return n / d, jac, g @ jac


@wrong("layer_norm_derivative", "first box: the derivative of the variance")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    jac = (torch.eye(d) - 1 / d - n[:, None] * n / d) / sigma
    return 2 * (x - x.mean()) / d, jac, g @ jac


@wrong("layer_norm_derivative", "first box is x - mu, not divided by sigma")
def _(x, g):
    d = len(x)
    mu, sigma = x.mean(), x.std(unbiased=False)
    n = (x - mu) / sigma
    jac = (torch.eye(d) - 1 / d - n[:, None] * n / d) / sigma
    return (x - mu) / d, jac, g @ jac


@wrong("layer_norm_derivative", "the square of n_j where n_i n_j belongs")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    jac = (torch.eye(d) - 1 / d - n**2 / d) / sigma
    return n / d, jac, g @ jac


@wrong("layer_norm_derivative", "1/d missing in the last box")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    jac = (torch.eye(d) - 1 / d - torch.outer(n, n)) / sigma
    return n / d, jac, g @ jac


@wrong("layer_norm_derivative", "forgets that sigma depends on x")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    jac = (torch.eye(d) - 1 / d) / sigma
    return n / d, jac, g @ jac


@wrong("layer_norm_derivative", "1/sigma on the identity alone")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    jac = torch.eye(d) / sigma - 1 / d - torch.outer(n, n) / d
    return n / d, jac, g @ jac


@wrong("layer_norm_derivative", "sums over j with g_i in front")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    jac = (torch.eye(d) - 1 / d - torch.outer(n, n) / d) / sigma
    return n / d, jac, (g[:, None] * jac).sum(dim=1)


@wrong("layer_norm_derivative", "n_i in the third box")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    jac = (torch.eye(d) - 1 / d - torch.outer(n, n) / d) / sigma
    return n / d, jac, n @ jac


@wrong("layer_norm_derivative", "short form of the sum, without g.mean()")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    jac = (torch.eye(d) - 1 / d - torch.outer(n, n) / d) / sigma
    return n / d, jac, (g - n * (g * n).mean()) / sigma


@wrong("layer_norm_derivative", "returns only the gradient")
def _(x, g):
    d = len(x)
    sigma = x.std(unbiased=False)
    n = (x - x.mean()) / sigma
    return (g - g.mean() - n * (g @ n) / d) / sigma


# ---------------------------------------------------------------- 6 keeps words apart (a value)

right("keeps_words_apart")(5)
right("keeps_words_apart")(10)
right("keeps_words_apart")(100.0)
wrong("keeps_words_apart", "doubles the matrices, looked at too roughly")(2)
wrong("keeps_words_apart", "shrinks in place of growing")(0.1)
wrong("keeps_words_apart", "a half, because of 'above a half'")(0.5)
wrong("keeps_words_apart", "leaves them as they are")(1)
wrong("keeps_words_apart", "1.5, without trying")(1.5)
wrong("keeps_words_apart", "0: nothing mixes any more")(0)
wrong("keeps_words_apart", "the value of apart, not the factor")(0.87)
wrong("keeps_words_apart", "1 / sqrt(d_k)")(8**-0.5)

# ---------------------------------------------------------------- 7 encoder layer


@right("encoder_layer")
class MyEncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm_first = norm_first

    def attend(self, x, hidden):
        return self.self_attn(x, x, x, key_padding_mask=hidden)[0]

    def feed(self, x):
        return self.linear2(torch.relu(self.linear1(x)))

    def forward(self, x, hidden):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), hidden)
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attend(x, hidden))
        return self.norm2(x + self.feed(x))


@right("encoder_layer")
class AnotherEncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first):
        super().__init__()
        self.num_heads = num_heads
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, 0.0, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.pre = norm_first

    def forward(self, x, hidden):
        batch, time, _ = x.shape
        mask = hidden[:, None, None, :].expand(batch, self.num_heads, time, time).flatten(0, 1)

        def attention(y):
            out, _ = self.self_attn(y, y, y, attn_mask=mask, need_weights=False)
            return out

        network = lambda y: self.linear2(F.relu(self.linear1(y)))
        for norm, part in ((self.norm1, attention), (self.norm2, network)):
            x = x + part(norm(x)) if self.pre else norm(x + part(x))
        return x


class Base(nn.Module):
    """What all of the wrong answers below have in common (each student wrote it out)."""

    def __init__(self, d_model, num_heads, d_ff, norm_first):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm_first = norm_first


@wrong("encoder_layer", "forgets the padding")
class E1(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.self_attn(y, y, y)[0]
            return x + ff(self.norm2(x))
        x = self.norm1(x + self.self_attn(x, x, x)[0])
        return self.norm2(x + ff(x))


@wrong("encoder_layer", "inverts the mask: True is what may be heard")
class E2(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.self_attn(y, y, y, key_padding_mask=~hidden)[0]
            return x + ff(self.norm2(x))
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=~hidden)[0])
        return self.norm2(x + ff(x))


@wrong("encoder_layer", "always post-norm")
class E3(Base):
    def forward(self, x, hidden):
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(x + self.linear2(torch.relu(self.linear1(x))))


@wrong("encoder_layer", "pre-norm: the shortcut starts after the norm")
class E4(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        if self.norm_first:
            x = self.norm1(x)
            x = x + self.self_attn(x, x, x, key_padding_mask=hidden)[0]
            x = self.norm2(x)
            return x + ff(x)
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(x + ff(x))


@wrong("encoder_layer", "pre-norm: only the query is normalised")
class E5(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        if self.norm_first:
            x = x + self.self_attn(self.norm1(x), x, x, key_padding_mask=hidden)[0]
            return x + ff(self.norm2(x))
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(x + ff(x))


@wrong("encoder_layer", "norm1 used twice")
class E6(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.self_attn(y, y, y, key_padding_mask=hidden)[0]
            return x + ff(self.norm1(x))
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=hidden)[0])
        return self.norm1(x + ff(x))


@wrong("encoder_layer", "no shortcut around the feed-forward network")
class E7(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.self_attn(y, y, y, key_padding_mask=hidden)[0]
            return ff(self.norm2(x))
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(ff(x))


@wrong("encoder_layer", "GELU, as in BERT")
class E8(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(F.gelu(self.linear1(y)))
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.self_attn(y, y, y, key_padding_mask=hidden)[0]
            return x + ff(self.norm2(x))
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(x + ff(x))


@wrong("encoder_layer", "the two orders confused")
class E9(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        if not self.norm_first:
            y = self.norm1(x)
            x = x + self.self_attn(y, y, y, key_padding_mask=hidden)[0]
            return x + ff(self.norm2(x))
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(x + ff(x))


@wrong("encoder_layer", "hidden given as attn_mask: wrong shape")
class E10(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.self_attn(y, y, y, attn_mask=hidden)[0]
            return x + ff(self.norm2(x))
        x = self.norm1(x + self.self_attn(x, x, x, attn_mask=hidden)[0])
        return self.norm2(x + ff(x))


@wrong("encoder_layer", "sets padded vectors to zero and lets them be heard")
class E11(Base):
    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        x = x.masked_fill(hidden[:, :, None], 0)
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.self_attn(y, y, y)[0]
            return x + ff(self.norm2(x))
        x = self.norm1(x + self.self_attn(x, x, x)[0])
        return self.norm2(x + ff(x))


@wrong("encoder_layer", "a further norm of its own at the end of a pre-norm layer")
class E12(Base):
    def __init__(self, d_model, num_heads, d_ff, norm_first):
        super().__init__(d_model, num_heads, d_ff, norm_first)
        self.norm3 = nn.LayerNorm(d_model, elementwise_affine=False)  # the last norm of pre-norm

    def forward(self, x, hidden):
        ff = lambda y: self.linear2(torch.relu(self.linear1(y)))
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.self_attn(y, y, y, key_padding_mask=hidden)[0]
            return self.norm3(x + ff(self.norm2(x)))
        x = self.norm1(x + self.self_attn(x, x, x, key_padding_mask=hidden)[0])
        return self.norm2(x + ff(x))

"""Answers of readers who saw only the statement."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention, SelfAttention
from answers import right, wrong

torch.set_default_dtype(torch.float64)  # as the notebook does


# ---------------------------------------------------------------- 1 one_output
@right("one_output")
def _(query, keys, values):
    scores = keys @ query / math.sqrt(query.size(0))
    return scores.softmax(0) @ values


@right("one_output")
def _(query, keys, values):
    return F.scaled_dot_product_attention(query[None], keys, values)[0]


@right("one_output")
def _(query, keys, values):
    n, d_k = keys.shape
    e = []
    for i in range(n):
        e.append(sum(query[j] * keys[i, j] for j in range(d_k)) / d_k**0.5)
    biggest = max(e)
    e = [torch.exp(x - biggest) for x in e]
    return sum(w / sum(e) * v for w, v in zip(e, values))


@right("one_output")
def _(query, keys, values):
    weights = torch.softmax((query * keys).sum(dim=-1) * len(query) ** -0.5, dim=-1)
    return (weights.unsqueeze(1) * values).sum(dim=0)


@wrong("one_output", "forgets the root of d_k")
def _(query, keys, values):
    return (keys @ query).softmax(0) @ values


@wrong("one_output", "divides by d_k, not by its root")
def _(query, keys, values):
    return (keys @ query / query.size(0)).softmax(0) @ values


@wrong("one_output", "root of the number of keys")
def _(query, keys, values):
    return (keys @ query / math.sqrt(len(keys))).softmax(0) @ values


@wrong("one_output", "root of the width of the values")
def _(query, keys, values):
    return (keys @ query / math.sqrt(values.size(-1))).softmax(-1) @ values


@wrong("one_output", "no softmax: the scores are the weights")
def _(query, keys, values):
    scores = keys @ query / math.sqrt(query.size(0))
    return scores @ values


@wrong("one_output", "divides by the sum of scores instead of softmax")
def _(query, keys, values):
    scores = keys @ query / math.sqrt(query.size(0))
    return (scores / scores.sum()) @ values


@wrong("one_output", "divides after the softmax")
def _(query, keys, values):
    weights = (keys @ query).softmax(0)
    return weights @ values / math.sqrt(query.size(0))


@wrong("one_output", "gives the value of the best key")
def _(query, keys, values):
    scores = keys @ query / math.sqrt(query.size(0))
    return values[scores.argmax()]


@wrong("one_output", "keeps an axis for the query: (1, d_v)")
def _(query, keys, values):
    q = query.unsqueeze(0)
    scores = q @ keys.T / math.sqrt(keys.size(1))
    return scores.softmax(-1) @ values


@wrong("one_output", "returns the keys' mean, not the values'")
def _(query, keys, values):
    scores = keys @ query / math.sqrt(query.size(0))
    return scores.softmax(0) @ keys


@wrong("one_output", "softmax of a column over its only entry's axis: all weights 1")
def _(query, keys, values):
    scores = (keys @ query[:, None]) / math.sqrt(query.size(0))  # (n, 1)
    weights = scores.softmax(-1)
    return (weights * values).sum(0)


# ---------------------------------------------------------------- 2 score_variances
@right("score_variances")
def _(d_k, var_q, var_k):
    product = var_q * var_k
    total = d_k * product
    return product, total, total / d_k, math.sqrt(product)


@right("score_variances")
def _(d_k, var_q, var_k):
    v = var_q * var_k
    return [v, sum(v for _ in range(d_k)), v, v**0.5]


@right("score_variances")
def _(d_k, var_q, var_k):
    return torch.tensor([var_q * var_k, d_k * var_q * var_k, var_q * var_k, (var_q * var_k) ** 0.5])


@wrong("score_variances", "adds the variances of the factors")
def _(d_k, var_q, var_k):
    p = var_q + var_k
    return p, d_k * p, p, math.sqrt(p)


@wrong("score_variances", "divides the variance by the root only once")
def _(d_k, var_q, var_k):
    p = var_q * var_k
    return p, d_k * p, d_k * p / math.sqrt(d_k), math.sqrt(d_k * p / math.sqrt(d_k))


@wrong("score_variances", "variance of the sum with d_k squared")
def _(d_k, var_q, var_k):
    p = var_q * var_k
    return p, d_k**2 * p, d_k * p, math.sqrt(d_k * p)


@wrong("score_variances", "takes variance 1 everywhere")
def _(d_k, var_q, var_k):
    return 1, d_k, 1, 1


@wrong("score_variances", "the deviation is the variance again")
def _(d_k, var_q, var_k):
    p = var_q * var_k
    return p, d_k * p, p, p


@wrong("score_variances", "product of the deviations for the first step")
def _(d_k, var_q, var_k):
    p = math.sqrt(var_q * var_k)
    return p, d_k * p, p, math.sqrt(p)


@wrong("score_variances", "deviation of the sum instead of the score's")
def _(d_k, var_q, var_k):
    p = var_q * var_k
    return p, d_k * p, p, math.sqrt(d_k * p)


@wrong("score_variances", "squares the variances")
def _(d_k, var_q, var_k):
    p = (var_q * var_k) ** 2
    return p, d_k * p, p, var_q * var_k


@wrong("score_variances", "last two changed places")
def _(d_k, var_q, var_k):
    p = var_q * var_k
    return p, d_k * p, math.sqrt(p), p


@wrong("score_variances", "leaves the deviation out")
def _(d_k, var_q, var_k):
    p = var_q * var_k
    return p, d_k * p, p


@wrong("score_variances", "the division cancels everything: score's variance 1")
def _(d_k, var_q, var_k):
    p = var_q * var_k
    return p, d_k * p, 1.0, 1.0


@wrong("score_variances", "multiplies by the root of d_k for the sum")
def _(d_k, var_q, var_k):
    p = var_q * var_k
    return p, math.sqrt(d_k) * p, p / math.sqrt(d_k), math.sqrt(p / math.sqrt(d_k))


# ---------------------------------------------------------------- 3 nearly_one_key
right("nearly_one_key")(256)
wrong("nearly_one_key", "median, or one lucky draw")(64)
wrong("nearly_one_key", "takes the last of the list to be safe")(1024)
wrong("nearly_one_key", "looks at 0.7 instead of 0.9")(16)
wrong("nearly_one_key", "with the division it never happens: says 0")(0)
wrong("nearly_one_key", "position in the list counted from 0")(4)
wrong("nearly_one_key", "position in the list counted from 1")(5)
wrong("nearly_one_key", "gives the average weight, not the width")(0.932)
wrong("nearly_one_key", "a width between that is not in the list")(128)


# ---------------------------------------------------------------- 4 batched_attention
@right("batched_attention")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return scores.softmax(dim=2) @ value


@right("batched_attention")
def _(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


@right("batched_attention")
def _(query, key, value):
    out = []
    for q, k, v in zip(query, key, value):
        out.append(torch.softmax(q @ k.T / k.shape[1] ** 0.5, dim=1) @ v)
    return torch.stack(out)


@wrong("batched_attention", "mends the width only")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return scores.softmax(dim=1) @ value


@wrong("batched_attention", "mends the axis only")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(value.size(-1))
    return scores.softmax(dim=-1) @ value


@wrong("batched_attention", "softmax over the batch")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(key.size(-1))
    return scores.softmax(dim=0) @ value


@wrong("batched_attention", "root of the number of keys")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(key.size(1))
    return scores.softmax(dim=2) @ value


@wrong("batched_attention", "takes the root away altogether")
def _(query, key, value):
    scores = query @ key.transpose(1, 2)
    return scores.softmax(dim=2) @ value


@wrong("batched_attention", "no root, only the width")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / query.size(-1)
    return scores.softmax(dim=2) @ value


@wrong("batched_attention", "softmax after the sum over the values")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return (scores @ value).softmax(dim=2)


@wrong("batched_attention", "multiplies by the root")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) * math.sqrt(query.size(-1))
    return scores.softmax(dim=2) @ value


@wrong("batched_attention", "normalises by both axes, one after the other")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return scores.softmax(dim=1).softmax(dim=2) @ value


@wrong("batched_attention", "returns the weights as well")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=2)
    return weights @ value, weights


# ---------------------------------------------------------------- 5 self_attention_layer
@right("self_attention_layer")
class _(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(-1) @ v


@right("self_attention_layer")
class _(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.d_k = d_k
        self.query, self.key = (nn.Linear(d_model, d_k, bias=False) for _ in range(2))
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        weights = torch.einsum("...id,...jd->...ij", self.query(x), self.key(x)) * self.d_k**-0.5
        return torch.einsum("...ij,...jv->...iv", torch.softmax(weights, dim=-1), self.value(x))


@right("self_attention_layer")
class _(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.attention = ScaledDotProductAttention()

    def forward(self, x):
        return self.attention(self.query(x), self.key(x), self.value(x))


class _Three(nn.Module):
    """The three layers, as many students made them."""

    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.d_model, self.d_k, self.d_v = d_model, d_k, d_v
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)


@wrong("self_attention_layer", "transposes axes 1 and 2, fails without a batch")
class _(_Three):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.transpose(1, 2) / math.sqrt(self.d_k)).softmax(-1) @ v


@wrong("self_attention_layer", "softmax along axis 1: right for one sentence without batch only")
class _(_Three):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.mT / math.sqrt(self.d_k)).softmax(dim=1) @ v


@wrong("self_attention_layer", "root of d_model")
class _(_Three):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.mT / math.sqrt(x.size(-1))).softmax(-1) @ v


@wrong("self_attention_layer", "root of d_v")
class _(_Three):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.mT / self.d_v**0.5).softmax(-1) @ v


@wrong("self_attention_layer", "no scaling")
class _(_Three):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.mT).softmax(-1) @ v


@wrong("self_attention_layer", "key and query change places")
class _(_Three):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (k @ q.mT / math.sqrt(self.d_k)).softmax(-1) @ v


@wrong("self_attention_layer", "softmax over the queries")
class _(_Three):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.mT / math.sqrt(self.d_k)).softmax(-2) @ v


@wrong("self_attention_layer", "layers with their default bias")
class _(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k)
        self.key = nn.Linear(d_model, d_k)
        self.value = nn.Linear(d_model, d_v)

    def forward(self, x):
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x))


@wrong("self_attention_layer", "calls the layers W_q, W_k, W_v")
class _(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_k, bias=False)
        self.W_k = nn.Linear(d_model, d_k, bias=False)
        self.W_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        return F.scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x))


@wrong("self_attention_layer", "values of width d_k")
class _(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(d_model, d_k, bias=False) for _ in range(3))

    def forward(self, x):
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x))


@wrong("self_attention_layer", "words may not look ahead")
class _(_Three):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@wrong("self_attention_layer", "adds batch axis to a plain sentence and never takes it off")
class _(_Three):
    def forward(self, x):
        if x.dim() == 2:
            x = x.unsqueeze(0)
        q, k, v = self.query(x), self.key(x), self.value(x)
        return (q @ k.mT / math.sqrt(self.d_k)).softmax(-1) @ v



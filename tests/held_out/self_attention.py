"""Answers of readers who saw only the statement."""
import math

import torch
from torch import nn

from answers import right, wrong


@right("one_output")
def _(query, keys, values):
    weights = (keys @ query / math.sqrt(len(query))).softmax(dim=0)
    return weights @ values


@wrong("one_output", "forgets the root of d_k")
def _(query, keys, values):
    return (keys @ query).softmax(0) @ values


@wrong("one_output", "divides by the root of the number of keys")
def _(query, keys, values):
    return (keys @ query / math.sqrt(len(keys))).softmax(0) @ values


@wrong("one_output", "the softmax over the values afterwards instead of the scores")
def _(query, keys, values):
    scores = keys @ query / math.sqrt(query.numel())
    return (scores @ values).softmax(-1)


@right("score_variances")
def _(d_k, var_q, var_k):
    product = var_q * var_k
    total = d_k * product
    score = total / d_k
    return product, total, score, math.sqrt(score)


@wrong("score_variances", "adds the variances of a product")
def _(d_k, var_q, var_k):
    one = var_q + var_k
    return one, d_k * one, one, one**0.5


@wrong("score_variances", "divides the variance by the root of d_k, not by d_k")
def _(d_k, var_q, var_k):
    one = var_q * var_k
    total = d_k * one
    score = total / math.sqrt(d_k)
    return one, total, score, math.sqrt(score)


@wrong("score_variances", "the variance of a sum of d_k taken times d_k squared")
def _(d_k, var_q, var_k):
    one = var_q * var_k
    total = d_k**2 * one
    return one, total, total / d_k, math.sqrt(total / d_k)


right("nearly_one_key")(256)
wrong("nearly_one_key", "first above a half, not above nine tenths")(16)
wrong("nearly_one_key", "the size at which it is practically 1")(1024)
wrong("nearly_one_key", "gives the weight, not the width")(0.9)


@right("batched_attention")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(key.size(-1))
    return scores.softmax(dim=2) @ value


@wrong("batched_attention", "fixes the axis of the softmax alone")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(value.size(-1))
    return scores.softmax(dim=-1) @ value


@wrong("batched_attention", "fixes the root alone")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return scores.softmax(dim=1) @ value


@wrong("batched_attention", "turns the weights as well as the softmax axis")
def _(query, key, value):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1).transpose(1, 2) @ value


@right("self_attention_layer")
class MySelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        return scores.softmax(-1) @ v


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


@wrong("self_attention_layer", "divides by the root of d_model")
class MySelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-1, -2)
        return (scores / math.sqrt(x.size(-1))).softmax(-1) @ self.value(x)


@wrong("self_attention_layer", "the values are the words themselves")
class MySelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = d_k**-0.5

    def forward(self, x):
        scores = self.query(x) @ self.key(x).mT * self.scale
        return scores.softmax(dim=-1) @ x

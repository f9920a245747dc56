"""What the proofs of chapter 23 must refuse."""

import math

import torch
from torch.nn import functional as F

from transformer_workbook.proofs import without_the_table as proofs


def unscaled(q, k, v, size):
    """It subtracts the maximum of each block, and adds the sums as they are."""
    total, output = 0, 0
    for keys, values in zip(k.split(size), v.split(size), strict=True):
        scores = q @ keys.T / math.sqrt(k.size(-1))
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        total, output = total + weights.sum(-1, keepdim=True), output + weights @ values
    return output / total


def blocks():
    proofs.blocks(unscaled)


def with_table(q, k, v):
    weights = ((F.elu(q) + 1) @ (F.elu(k) + 1).T).tril()
    return weights @ v / weights.sum(-1, keepdim=True)


def late(q, k, v):
    """It reads before it writes."""
    return F.pad(with_table(q, k, v)[:-1], (0, 0, 1, 0))


def forms():
    proofs.forms(with_table, late)


def delta_rule():
    proofs.delta_rule(lambda S, k, v: S + torch.outer(k, v))


REFUTED = {
    blocks: "blocks of 1, 3, 10 and 64 differs from PyTorch's attention by",
    forms: "the recurrent network differs from the sum by",
    delta_rule: "your rule differs from the package by",
}

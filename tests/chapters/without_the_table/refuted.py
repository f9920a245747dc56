import torch
from torch.nn import functional as F

from annotated_transformer.linear_attention import linear_attention
from transformer_workbook.chapters.without_the_table import proofs


def first_block(q, k, v, size):
    """It stops after the first block."""
    return F.scaled_dot_product_attention(q, k[:size], v[:size])


def blocks():
    proofs.blocks(first_block)


def forms():
    """Both keep the softmax."""
    softmax = F.scaled_dot_product_attention
    proofs.forms(softmax, softmax, linear_attention)


def delta_rule():
    proofs.delta_rule(lambda S, k, v: S + torch.outer(k, v), linear_attention)


def chunks():
    """It forgets the state between chunks."""

    def apart(q, k, v, strength=None):
        pieces = [x.split(4) for x in (q, k, v)]
        parts = [(a @ b.T).tril() @ c for a, b, c in zip(*pieces, strict=True)]
        return torch.cat(parts)

    proofs.chunks(apart, linear_attention)


REFUTED = {
    blocks: "blocks of 1, 3, 10 and 64 differs from PyTorch's attention by",
    forms: "the package in chunks differs from the attention matrix by",
    chunks: "chunks differs from the package, one position after the other by",
    delta_rule: "your rule differs from the package by",
}

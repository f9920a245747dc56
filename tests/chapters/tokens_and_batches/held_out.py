import math

import torch

from answers import wrong


@wrong("perplexity_of_lead", "the exponential of 0 taken as 0")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + (n - 1) * 0)
    return p, -math.log(p), 1 / p, math.log(k)


@wrong("perplexity_of_lead", "a wrong way round: log of (k - 1) / (n - 1)")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    return p, -math.log(p), 1 + (n - 1) / math.exp(a), math.log((k - 1) / (n - 1))


wrong("smallest_pool", "the last that leaves more than 5 %")(128)
wrong("smallest_pool", "stopped at one pool of a batch")(16)
wrong("smallest_pool", "the share as a fraction, not the pool")(0.05)


@wrong("batch_of_sentences", "padding in front, and no end of sentence")
def _(sentences, ids):
    rows = [sentence.split() for sentence in sentences]
    framed = [["<bos>", *row] for row in rows]
    longest = max(len(row) for row in framed)
    padded = [["<pad>"] * (longest - len(row)) + row for row in framed]
    return torch.tensor([[ids[word] for word in row] for row in padded])


@wrong("perplexity_of_lead", "logarithms to base 2")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    surprisal = -math.log2(p)
    return p, surprisal, 2**surprisal, math.log2((n - 1) / (k - 1))

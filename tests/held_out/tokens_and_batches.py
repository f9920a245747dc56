"""Answers of readers who saw only the statement."""
import math

import torch

from annotated_transformer.tokens import BOS, EOS, PAD
from answers import right, wrong


@right("count_tokens")
def _(ids):
    return (ids != PAD).sum(dim=1)








@right("shift")
def _(tgt_out):
    body = tgt_out[:, :-1]
    body = torch.where(body == EOS, torch.full_like(body, PAD), body)
    bos = torch.full_like(tgt_out[:, :1], BOS)
    return torch.cat([bos, body], dim=1)








@right("perplexity_of_two")
def _(first, second):
    both = list(first) + list(second)
    return math.exp(sum(both) / len(both))








@right("mean_surprisal")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    real = target != 0
    return (surprisal * real).sum() / real.sum()








@right("perplexity_of_lead")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    surprisal = math.log(math.exp(a) + n - 1) - a
    perplexity = 1 + (n - 1) * math.exp(-a)
    needed_a = math.log((n - 1) / (k - 1))
    return p, surprisal, perplexity, needed_a




@wrong("perplexity_of_lead", "the exponential of 0 taken as 0")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + (n - 1) * 0)
    return p, -math.log(p), 1 / p, math.log(k)


@wrong("perplexity_of_lead", "a wrong way round: log of (k - 1) / (n - 1)")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    return p, -math.log(p), 1 + (n - 1) / math.exp(a), math.log((k - 1) / (n - 1))


right("smallest_pool")(256)
wrong("smallest_pool", "the last that leaves more than 5 %")(128)
wrong("smallest_pool", "stopped at one pool of a batch")(16)
wrong("smallest_pool", "the share as a fraction, not the pool")(0.05)


@right("fill_batches")
def _(lengths, limit):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches, batch = [], []
    for i in order:
        if batch and (len(batch) + 1) * lengths[i] > limit:
            batches.append(batch)
            batch = []
        batch.append(i)
    batches.append(batch)
    return batches







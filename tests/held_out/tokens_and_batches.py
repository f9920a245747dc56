"""Answers of readers who saw only the statement."""
import math

import torch

from annotated_transformer.tokens import BOS, EOS, PAD
from answers import right, wrong


@right("count_tokens")
def _(ids):
    return (ids != PAD).sum(dim=1)


@wrong("count_tokens", "the place of the smallest id, right only where there is a PAD")
def _(ids):
    return torch.tensor([row.argmin() for row in ids])


@wrong("count_tokens", "counts down the columns")
def _(ids):
    return (ids != PAD).sum(0)


@wrong("count_tokens", "leaves out all special tokens, not PAD alone")
def _(ids):
    return (ids > EOS).sum(1)


@right("shift")
def _(tgt_out):
    body = tgt_out[:, :-1]
    body = torch.where(body == EOS, torch.full_like(body, PAD), body)
    bos = torch.full_like(tgt_out[:, :1], BOS)
    return torch.cat([bos, body], dim=1)


@wrong("shift", "cuts the last column and leaves EOS in short rows")
def _(tgt_out):
    bos = torch.full((len(tgt_out), 1), BOS)
    return torch.cat([bos, tgt_out[:, :-1]], dim=1)


@wrong("shift", "rolls and overwrites the first, in which the last was")
def _(tgt_out):
    out = tgt_out.masked_fill(tgt_out == EOS, BOS)
    return out.roll(1, dims=1)


@wrong("shift", "concatenates BOS without a cut, one column too many")
def _(tgt_out):
    bos = torch.full((len(tgt_out), 1), BOS)
    tgt_in = torch.cat([bos, tgt_out], dim=1)
    tgt_in[tgt_in == EOS] = PAD
    return tgt_in


@right("perplexity_of_two")
def _(first, second):
    both = list(first) + list(second)
    return math.exp(sum(both) / len(both))


@wrong("perplexity_of_two", "exp of the mean of the two means")
def _(first, second):
    a = sum(first) / len(first)
    b = sum(second) / len(second)
    return math.exp((a + b) / 2)


@wrong("perplexity_of_two", "2 to the power, as if the surprisals were bits")
def _(first, second):
    return 2 ** (sum(first + second) / len(first + second))


@wrong("perplexity_of_two", "weighs the perplexities by length")
def _(first, second):
    ppl1 = math.exp(sum(first) / len(first))
    ppl2 = math.exp(sum(second) / len(second))
    n, m = len(first), len(second)
    return (n * ppl1 + m * ppl2) / (n + m)


@right("mean_surprisal")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    real = target != 0
    return (surprisal * real).sum() / real.sum()


@wrong("mean_surprisal", "drops the mask altogether")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return surprisal.mean()


@wrong("mean_surprisal", "a mean per sentence, then over sentences")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    real = target != 0
    return ((surprisal * real).sum(-1) / real.sum(-1)).mean()


@wrong("mean_surprisal", "divides by the number of sentences")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return (surprisal * (target != 0)).sum() / len(target)


@right("perplexity_of_lead")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    surprisal = math.log(math.exp(a) + n - 1) - a
    perplexity = 1 + (n - 1) * math.exp(-a)
    needed_a = math.log((n - 1) / (k - 1))
    return p, surprisal, perplexity, needed_a


@wrong("perplexity_of_lead", "n others instead of n - 1")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n)
    return p, -math.log(p), 1 / p, math.log(n / (k - 1))


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


@wrong("fill_batches", "forgets the last batch")
def _(lengths, limit):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches, batch = [], []
    for i in order:
        if (len(batch) + 1) * lengths[i] > limit:
            batches.append(batch)
            batch = []
        batch.append(i)
    return batches


@wrong("fill_batches", "counts the real tokens, not length times sentences")
def _(lengths, limit):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches, batch, size = [], [], 0
    for i in order:
        if batch and size + lengths[i] > limit:
            batches.append(batch)
            batch, size = [], 0
        batch.append(i)
        size += lengths[i]
    return batches + [batch]


@wrong("fill_batches", "a batch that reaches the limit exactly is closed too early")
def _(lengths, limit):
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    batches = [[]]
    for i in order:
        if batches[-1] and (len(batches[-1]) + 1) * lengths[i] >= limit:
            batches.append([])
        batches[-1].append(i)
    return batches

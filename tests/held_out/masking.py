"""Answers of readers who saw only the statement."""
import math

import torch

from annotated_transformer.tokens import PAD
from answers import right, wrong


@right("kept_ends")
def _(lengths):
    return sum(n < max(lengths) for n in lengths)








@right("window_mask")
def _(ids, width):
    t = torch.arange(ids.size(1))
    back = t[:, None] - t
    window = (back >= 0) & (back < width)
    return window & (ids != PAD)[:, None, None, :]








@right("causal_attention")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[:, None] < time[None, :]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value








right("far_reach")(12)
wrong("far_reach", "three times the window")(15)
wrong("far_reach", "the word itself counted")(13)
wrong("far_reach", "one layer's window only")(4)


@right("through_the_mask")
def _(scores, mask, values):
    a = scores.softmax(0)
    Z = a[mask.bool()].sum()
    a2 = a * mask / Z
    c = (a2 * values).sum()
    return a, Z, a2, c, a2 * (values - c)








@right("sees_the_future")
def _(logits, ids):
    before = logits(ids)
    for j in range(1, len(ids)):
        for new in (0, 1, 2, 3, 5, 7, int(ids[j]) + 1, int(ids[j]) + 2):
            other = ids.clone()
            other[j] = new
            if not torch.allclose(logits(other)[:j], before[:j], rtol=1e-6, atol=1e-7):
                return True
    return False








@right("unseen_leak")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    if len(time) > 2:
        hidden[1, 2] = False
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("unseen_leak", "the root forgotten, which PyTorch's last output shows")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1)
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("unseen_leak", "every word sees one word more")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None] + 1
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("unseen_leak", "written otherwise, but not a bug: -1e30 for minus infinity")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) * query.size(-1) ** -0.5
    n = query.size(-2)
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -1e30).softmax(dim=-1) @ value

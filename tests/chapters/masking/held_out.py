import math

import torch

from answers import wrong


wrong("far_reach", "three times the window")(15)
wrong("far_reach", "the word itself counted")(13)
wrong("far_reach", "one layer's window only")(4)


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


@wrong("window_mask", "one position too wide, in numbers")
def _(ids, width):
    near = torch.ones(ids.size(1), ids.size(1)).tril().triu(-width)
    return near * (ids != 0)[:, None, None]


@wrong("sees_the_future", "looks whether what comes later has moved")
def _(logits, ids):
    before = logits(ids)
    for t in range(len(ids) - 1):
        other = ids.clone()
        other[t] += 1
        if not torch.allclose(before[t + 1 :], logits(other)[t + 1 :]):
            return True
    return False

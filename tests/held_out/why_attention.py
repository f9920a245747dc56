"""Answers of readers who saw only the statement."""
import torch

from answers import right, wrong


@right("window")
def _(n, r):
    i = torch.arange(n)
    return (i[:, None] - i).abs() <= r // 2


@wrong("window", "strictly less, one short on each side")
def _(n, r):
    i = torch.arange(n)
    return (i[:, None] - i).abs() < r // 2


@wrong("window", "only backwards, without abs")
def _(n, r):
    i = torch.arange(n)
    return i[:, None] - i <= r // 2


@wrong("window", "r positions to each side")
def _(n, r):
    return torch.ones(n, n, dtype=torch.bool).tril(r).triu(-r)


@right("wasted_pairs")
def _(lengths):
    used = sum(n * n for n in lengths)
    return 1 - used / (len(lengths) * max(lengths) ** 2)


@wrong("wasted_pairs", "the share of padding positions, not of pairs")
def _(lengths):
    return 1 - sum(lengths) / (len(lengths) * max(lengths))


@wrong("wasted_pairs", "only cells where both are padding")
def _(lengths):
    m = max(lengths)
    return sum((m - n) ** 2 for n in lengths) / (len(lengths) * m**2)


@wrong("wasted_pairs", "the square of the whole batch's share")
def _(lengths):
    return 1 - (sum(lengths) / (len(lengths) * max(lengths))) ** 2


@right("break_even")
def _(n, g, d):
    return 8 * d**2 + 4 * n * d, 4 * g * d**2, (g - 2) * d, (g - 2) / g, 2 * (g - 1) / g


@wrong("break_even", "forgets the outer factor 2 of the attention")
def _(n, g, d):
    return 4 * d**2 + 2 * n * d, 4 * g * d**2, 2 * (g - 1) * d, (g - 1) / g, (2 * g - 1) / g


@wrong("break_even", "the share at n* as scores over projections")
def _(n, g, d):
    star = (g - 2) * d
    return 8 * d**2 + 4 * n * d, 4 * g * d**2, star, (g - 2) / 2, 2 * (g - 1) / g


@wrong("break_even", "twice the length, taken as four times the operations")
def _(n, g, d):
    attention = 8 * d * d + 4 * n * d
    recurrent = 4 * g * d * d
    return attention, recurrent, (g - 2) * d, 1 - 2 / g, 4


right("doubling_reach")(31)
wrong("doubling_reach", "the product instead of the sum: 3 to the power of 4")(81)
wrong("doubling_reach", "the sum of the gaps, the last symbol itself not counted")(15)
wrong("doubling_reach", "one neighbour per layer on each side: 15 and itself")(16)

right("record_of_times")("AC")
wrong("record_of_times", "E is the cause in the chapter, so it counts")("ACE")
wrong("record_of_times", "D generalises the seven lengths")("ACD")
wrong("record_of_times", "doubling the words doubles it at least, from theory")("ABC")


@right("path_length")
def _(may_read):
    step = may_read.long()
    reached = step
    depth = 1
    while not reached.all():
        reached = (reached @ step).clamp(max=1)
        depth += 1
        if depth > len(may_read) ** 2:
            return None
    return depth


@wrong("path_length", "counts doublings: 2 to the power of the depth")
def _(may_read):
    reached = may_read.long()
    for depth in range(0, len(may_read) + 1):
        if reached.all():
            return 2**depth
        reached = (reached @ reached).clamp(max=1)


@wrong("path_length", "starts to count at 0 layers")
def _(may_read):
    reached = may_read.long()
    for depth in range(len(may_read) + 1):
        if reached.all():
            return depth
        reached = (reached @ may_read.long()).clamp(max=1)


@wrong("path_length", "elementwise product instead of the matrix product, never ends")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached.all():
            return depth
        reached = (reached * may_read.long()).clamp(max=1)


@right("block_attention")
def _(query, key, value, width):
    n = query.size(0)
    top = query.new_full((n, 1), -torch.inf)
    total = query.new_zeros(n, 1)
    out = query.new_zeros(n, value.size(1))
    for k, v in zip(key.split(width), value.split(width)):
        scores = query @ k.T / query.size(1) ** 0.5
        new = torch.maximum(top, scores.amax(1, keepdim=True))
        shrink = torch.exp(top - new)
        e = torch.exp(scores - new)
        total = total * shrink + e.sum(1, keepdim=True)
        out = out * shrink + e @ v
        top = new
    return out / total


@wrong("block_attention", "the average of softmaxes of the blocks")
def _(query, key, value, width):
    outs = []
    for k, v in zip(key.split(width), value.split(width)):
        scores = query @ k.T / query.size(1) ** 0.5
        outs.append(scores.softmax(-1) @ v)
    return torch.stack(outs).mean(0)


@wrong("block_attention", "without a maximum, exponentials overflow")
def _(query, key, value, width):
    total = 0
    out = 0
    for i in range(0, len(key), width):
        e = torch.exp(query @ key[i : i + width].T / query.size(1) ** 0.5)
        total = total + e.sum(1, keepdim=True)
        out = out + e @ value[i : i + width]
    return out / total


@wrong("block_attention", "shrinks the values' sum, not the exponentials' sum")
def _(query, key, value, width):
    n = query.size(0)
    top = query.new_full((n, 1), -torch.inf)
    total = query.new_zeros(n, 1)
    out = query.new_zeros(n, value.size(1))
    for i in range(0, len(key), width):
        scores = query @ key[i : i + width].T / query.size(1) ** 0.5
        new = torch.maximum(top, scores.amax(1, keepdim=True))
        e = torch.exp(scores - new)
        out = out * torch.exp(top - new) + e @ value[i : i + width]
        total = total + e.sum(1, keepdim=True)
        top = new
    return out / total

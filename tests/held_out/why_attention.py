"""Answers of readers who saw only the statement."""
import torch

from answers import right, wrong


@right("window")
def _(n, r):
    i = torch.arange(n)
    return (i[:, None] - i).abs() <= r // 2








@right("wasted_pairs")
def _(lengths):
    used = sum(n * n for n in lengths)
    return 1 - used / (len(lengths) * max(lengths) ** 2)








@right("break_even")
def _(n, g, d):
    return 8 * d**2 + 4 * n * d, 4 * g * d**2, (g - 2) * d, (g - 2) / g, 2 * (g - 1) / g








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







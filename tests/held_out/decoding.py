"""Answers of readers who saw only the statement."""
import heapq
import math

import torch

from answers import right, wrong


@right("positions_read")
def _(length, cached):
    return length if cached else length * (length + 1) // 2








@right("keep_rows")
def _(tokens, cache, row, token):
    return torch.cat([tokens[row], token[:, None]], dim=1), cache[row]








@right("cached_numbers")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * num_heads * d_k * (src + tgt)








right("greedy_misses")(0.37)
wrong("greedy_misses", "the share for 3 words")(0.11)
wrong("greedy_misses", "the share that it finds")(0.63)
wrong("greedy_misses", "what a beam of 2 still misses")(0.18)


@right("turning_point")
def _(short, long):
    a = sum(math.log(p) for p in short)
    b = sum(math.log(p) for p in long)
    ratio = b / a
    return a, b, ratio, math.log(ratio) / math.log((5 + len(long)) / (5 + len(short)))


@wrong("turning_point", "the ratio upside down")
def _(short, long):
    a = math.log(math.prod(short))
    b = math.log(math.prod(long))
    ratio = a / b
    return a, b, ratio, math.log(ratio) / math.log((5 + len(long)) / (5 + len(short)))






@right("extend_beam")
def _(log_prob, following, size):
    total = (log_prob[:, None] + following).flatten()
    best = total.topk(size).indices.tolist()
    vocab = following.size(1)
    return [(i // vocab, i % vocab) for i in best]








@right("exact_search")
def _(following, bos, eos):
    heap, n = [(0.0, 0, [bos], False)], 0
    while heap:
        cost, _, tokens, done = heapq.heappop(heap)
        if done:
            return tokens[1:]
        for token, lp in enumerate(following(tokens).tolist()):
            if lp == -math.inf:
                continue
            n += 1
            if token == eos:
                heapq.heappush(heap, (cost - lp, n, tokens, True))
            else:
                heapq.heappush(heap, (cost - lp, n, tokens + [token], False))







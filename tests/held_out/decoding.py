"""Answers of readers who saw only the statement."""
import heapq
import math

import torch

from answers import right, wrong


@right("positions_read")
def _(length, cached):
    return length if cached else length * (length + 1) // 2


@wrong("positions_read", "the square, as if all steps read the whole sentence")
def _(length, cached):
    return length if cached else length**2


@wrong("positions_read", "the sum up to length - 1")
def _(length, cached):
    return length if cached else length * (length - 1) // 2


@wrong("positions_read", "the cases swapped")
def _(length, cached):
    if not cached:
        return length
    return sum(range(1, length + 1))


@right("keep_rows")
def _(tokens, cache, row, token):
    return torch.cat([tokens[row], token[:, None]], dim=1), cache[row]


@wrong("keep_rows", "gathers by the chosen token instead of the row")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    return tokens, cache[token % len(cache)]


@wrong("keep_rows", "the rows sorted, so the cache no longer belongs to the tokens")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    cache = cache[row.sort().values]
    return tokens, cache


@wrong("keep_rows", "selects along the time axis")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    return tokens, cache[:, row]


@right("cached_numbers")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * num_heads * d_k * (src + tgt)


@wrong("cached_numbers", "keys only")
def _(num_layers, num_heads, d_k, src, tgt):
    return num_layers * num_heads * d_k * (src + tgt)


@wrong("cached_numbers", "source times target, as for the weights")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * num_heads * d_k * src * tgt


@wrong("cached_numbers", "the source kept once, not in every layer")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_heads * d_k * (num_layers * tgt + src)


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


@wrong("turning_point", "EOS not counted in the length")
def _(short, long):
    a = sum(map(math.log, short))
    b = sum(map(math.log, long))
    return a, b, b / a, math.log(b / a) / math.log((4 + len(long)) / (4 + len(short)))


@wrong("turning_point", "the ratio of the probabilities, not of their logarithms")
def _(short, long):
    a = sum(map(math.log, short))
    b = sum(map(math.log, long))
    ratio = math.exp(a - b)
    return a, b, ratio, math.log(ratio) / math.log((5 + len(long)) / (5 + len(short)))


@right("extend_beam")
def _(log_prob, following, size):
    total = (log_prob[:, None] + following).flatten()
    best = total.topk(size).indices.tolist()
    vocab = following.size(1)
    return [(i // vocab, i % vocab) for i in best]


@wrong("extend_beam", "row and token swapped by dividing by the beam")
def _(log_prob, following, size):
    total = (log_prob[:, None] + following).flatten()
    beam = len(log_prob)
    return [(i % beam, i // beam) for i in total.topk(size).indices.tolist()]


@wrong("extend_beam", "the best of each hypothesis, one a row")
def _(log_prob, following, size):
    total = log_prob[:, None] + following
    best, token = total.max(dim=1)
    rows = best.argsort(descending=True)[:size].tolist()
    return [(r, token[r].item()) for r in rows]


@wrong("extend_beam", "the hypotheses' own log-probability not added")
def _(log_prob, following, size):
    vocab = following.size(1)
    best = following.flatten().topk(size).indices
    return [(i.item() // vocab, i.item() % vocab) for i in best]


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


@wrong("exact_search", "greedy: the best next token each time")
def _(following, bos, eos):
    tokens = [bos]
    while len(tokens) < 100:
        token = following(tokens).argmax().item()
        if token == eos:
            break
        tokens.append(token)
    return tokens[1:]


@wrong("exact_search", "ends a hypothesis as soon as eos is its best next token")
def _(following, bos, eos):
    heap = [(0.0, [bos])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        log_probs = following(tokens)
        if log_probs.argmax().item() == eos:
            return tokens[1:]
        for token in range(len(log_probs)):
            if token != eos and log_probs[token] > -math.inf:
                heapq.heappush(heap, (cost - log_probs[token].item(), tokens + [token]))


@wrong("exact_search", "keeps eos at the end of the sentence")
def _(following, bos, eos):
    best, best_lp = [], -math.inf
    stack = [([bos], 0.0)]
    while stack:
        tokens, lp = stack.pop()
        log_probs = following(tokens).tolist()
        for token, p in enumerate(log_probs):
            if lp + p <= best_lp:
                continue
            if token == eos:
                best, best_lp = tokens[1:] + [eos], lp + p
            else:
                stack.append((tokens + [token], lp + p))
    return best

"""Answers of readers who saw only the statement."""
import heapq
import math
from itertools import count, product

import torch

from answers import right, wrong


# ---------------------------------------------------------------- 1 positions_read
@right("positions_read")
def _(length, cached):
    return length if cached else length * (length + 1) // 2


@right("positions_read")
def _(length, cached):
    total = 0
    for step in range(1, length + 1):
        total += 1 if cached else step
    return total


@wrong("positions_read", "steps counted from 0: one row of the triangle missing")
def _(length, cached):
    return length if cached else sum(range(length))


@wrong("positions_read", "the whole square without a cache")
def _(length, cached):
    return length if cached else length**2


@wrong("positions_read", "the two cases swapped")
def _(length, cached):
    if cached:
        return length * (length + 1) // 2
    return length


@wrong("positions_read", "BOS not counted")
def _(length, cached):
    return length - 1 if cached else (length - 1) * length // 2


@wrong("positions_read", "BOS counted on top")
def _(length, cached):
    n = length + 1
    return n if cached else n * (n + 1) // 2


@wrong("positions_read", "of the last step only")
def _(length, cached):
    return 1 if cached else length


@wrong("positions_read", "forgets to ask whether there is a cache")
def _(length, cached):
    return length * (length + 1) // 2


@wrong("positions_read", "the numbers for 100 hard-coded")
def _(length, cached):
    return 100 if cached else 5050


@wrong("positions_read", "with a cache every step still attends to all: adds a half")
def _(length, cached):
    return length * (length + 1) // 2 if cached else length * length


# ---------------------------------------------------------------- 2 keep_rows
@right("keep_rows")
def _(tokens, cache, row, token):
    return torch.cat([tokens[row], token[:, None]], dim=1), cache[row]


@right("keep_rows")
def _(tokens, cache, row, token):
    kept = [cache[r] for r in row.tolist()]
    words = [torch.cat([tokens[r], t[None]]) for r, t in zip(row, token)]
    return torch.stack(words), torch.stack(kept)


@right("keep_rows")
def _(tokens, cache, row, token):
    tokens = tokens.index_select(0, row)
    return [torch.hstack([tokens, token.unsqueeze(1)]), cache.index_select(0, row)]


@wrong("keep_rows", "leaves the cache untouched")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    return tokens, cache


@wrong("keep_rows", "picks the cache by token in place of row")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    cache = cache[token % len(cache)]
    return tokens, cache


@wrong("keep_rows", "sorts the rows for the cache")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    cache = cache[row.sort().values]
    return tokens, cache


@wrong("keep_rows", "unique rows: a hypothesis continued twice has one cache")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    cache = cache[row.unique()]
    return tokens, cache


@wrong("keep_rows", "writes into the cache row by row, reads rows already overwritten")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    cache = cache.clone()
    for i, r in enumerate(row.tolist()):
        cache[i] = cache[r]
    return tokens, cache[: len(row)]


@wrong("keep_rows", "scatters instead of gathering: old row i goes to place row[i]")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    new = torch.zeros_like(cache)
    new[row] = cache[: len(row)]
    return tokens, new[: len(row)]


@wrong("keep_rows", "indexes time instead of beam")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    return tokens, cache[:, row]


@wrong("keep_rows", "repairs the cache and spoils the tokens")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[: len(row)], token[:, None]], dim=1)
    return tokens, cache[row]


@wrong("keep_rows", "a mask of the rows that go on loses order and copies")
def _(tokens, cache, row, token):
    tokens = torch.cat([tokens[row], token[:, None]], dim=1)
    alive = torch.zeros(len(cache), dtype=torch.bool)
    alive[row] = True
    return tokens, cache[alive]


@wrong("keep_rows", "puts the new token in front")
def _(tokens, cache, row, token):
    return torch.cat([token[:, None], tokens[row]], dim=1), cache[row]


# ---------------------------------------------------------------- 3 cached_numbers
@right("cached_numbers")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * num_heads * d_k * (src + tgt)


@right("cached_numbers")
def _(num_layers, num_heads, d_k, src, tgt):
    total = 0
    for _ in range(num_layers):
        for length in (src, tgt):
            keys = num_heads * length * d_k
            values = num_heads * length * d_k
            total += keys + values
    return total


@wrong("cached_numbers", "only the keys")
def _(num_layers, num_heads, d_k, src, tgt):
    return num_layers * num_heads * d_k * (src + tgt)


@wrong("cached_numbers", "only the target tokens")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * num_heads * d_k * tgt


@wrong("cached_numbers", "source kept once, not for each layer")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_heads * d_k * (num_layers * tgt + src)


@wrong("cached_numbers", "a number for each pair of source and target")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * num_heads * d_k * src * tgt


@wrong("cached_numbers", "d_k taken as the width of all heads together")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * d_k * (src + tgt)


@wrong("cached_numbers", "forgets the layers")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_heads * d_k * (src + tgt)


@wrong("cached_numbers", "keys, values and queries")
def _(num_layers, num_heads, d_k, src, tgt):
    return 3 * num_layers * num_heads * d_k * (src + tgt)


@wrong("cached_numbers", "BOS added to the target")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * num_heads * d_k * (src + tgt + 1)


@wrong("cached_numbers", "precedence: parentheses forgotten")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * num_heads * d_k * src + tgt


@wrong("cached_numbers", "a key of width d_k squared, the weights counted")
def _(num_layers, num_heads, d_k, src, tgt):
    return 2 * num_layers * num_heads * d_k**2 * (src + tgt)


# ---------------------------------------------------------------- 4 greedy_misses
right("greedy_misses")(0.37)
right("greedy_misses")(0.3735)
right("greedy_misses")(torch.tensor(0.3735, dtype=torch.float64))
wrong("greedy_misses", "the share with 3 words")(0.11)
wrong("greedy_misses", "the share that greedy search finds")(0.63)
wrong("greedy_misses", "the share that a beam of 2 misses")(0.187)
wrong("greedy_misses", "in percent")(37.35)
wrong("greedy_misses", "the number of models")(3735)
wrong("greedy_misses", "guess: ten times as much as with 3")(0.9)
wrong("greedy_misses", "thinks that the number of words does not matter: 1 - 2/3")(0.33)
wrong("greedy_misses", "picks the second word without the first: unconditional argmax")(0.97)


# ---------------------------------------------------------------- 5 turning_point
@right("turning_point")
def _(short, long):
    s = sum(math.log(p) for p in short)
    l = sum(math.log(p) for p in long)
    ratio = l / s
    return s, l, ratio, math.log(ratio) / math.log((5 + len(long)) / (5 + len(short)))


@right("turning_point")
def _(short, long):
    s = torch.tensor(short).log().sum().item()
    l = torch.tensor(long).log().sum().item()
    base = (5 + len(long)) / (5 + len(short))
    return [s, l, l / s, math.log(l / s, base)]


@wrong("turning_point", "ratio upside down")
def _(short, long):
    s = sum(map(math.log, short))
    l = sum(map(math.log, long))
    return s, l, s / l, math.log(s / l) / math.log((5 + len(long)) / (5 + len(short)))


@wrong("turning_point", "probabilities, no logarithm")
def _(short, long):
    s, l = math.prod(short), math.prod(long)
    return s, l, l / s, math.log(l / s) / math.log((5 + len(long)) / (5 + len(short)))


@wrong("turning_point", "EOS added to the lengths a second time")
def _(short, long):
    s = sum(map(math.log, short))
    l = sum(map(math.log, long))
    return s, l, l / s, math.log(l / s) / math.log((6 + len(long)) / (6 + len(short)))


@wrong("turning_point", "EOS taken off the lengths")
def _(short, long):
    s = sum(map(math.log, short))
    l = sum(map(math.log, long))
    return s, l, l / s, math.log(l / s) / math.log((4 + len(long)) / (4 + len(short)))


@wrong("turning_point", "divides by the base instead of taking its logarithm")
def _(short, long):
    s = sum(map(math.log, short))
    l = sum(map(math.log, long))
    return s, l, l / s, (l / s) / ((5 + len(long)) / (5 + len(short)))


@wrong("turning_point", "plain lengths without the 5")
def _(short, long):
    s = sum(map(math.log, short))
    l = sum(map(math.log, long))
    return s, l, l / s, math.log(l / s) / math.log(len(long) / len(short))


@wrong("turning_point", "logarithms to base 2")
def _(short, long):
    s = sum(math.log2(p) for p in short)
    l = sum(math.log2(p) for p in long)
    return s, l, l / s, math.log2(l / s) / math.log2((5 + len(long)) / (5 + len(short)))


@wrong("turning_point", "difference of the log-probabilities as right-hand side")
def _(short, long):
    s = sum(map(math.log, short))
    l = sum(map(math.log, long))
    return s, l, s - l, math.log(s - l) / math.log((5 + len(long)) / (5 + len(short)))


@wrong("turning_point", "mean log-probability instead of the sum")
def _(short, long):
    s = sum(map(math.log, short)) / len(short)
    l = sum(map(math.log, long)) / len(long)
    return s, l, l / s, math.log(l / s) / math.log((5 + len(long)) / (5 + len(short)))


@wrong("turning_point", "step 3 is the number to which alpha leads, with the 6 in it")
def _(short, long):
    s = sum(map(math.log, short))
    l = sum(map(math.log, long))
    return s, l, l / s, math.log(l / s) / math.log((5 + len(long)) / 6)


# ---------------------------------------------------------------- 6 extend_beam
@right("extend_beam")
def _(log_prob, following, size):
    scores = log_prob[:, None] + following
    vocab = following.size(1)
    best = scores.flatten().topk(size).indices.tolist()
    return [(i // vocab, i % vocab) for i in best]


@right("extend_beam")
def _(log_prob, following, size):
    beam, vocab = following.shape
    pairs = [(r, t) for r in range(beam) for t in range(vocab)]
    pairs.sort(key=lambda p: (log_prob[p[0]] + following[p[0], p[1]]).item(), reverse=True)
    return pairs[:size]


@right("extend_beam")
def _(log_prob, following, size):
    scores = (log_prob.unsqueeze(1) + following).clone()
    out = []
    for _ in range(size):
        i = int(scores.argmax())
        pair = divmod(i, scores.shape[1])
        out.append(list(pair))
        scores[pair] = -torch.inf
    return out


@wrong("extend_beam", "ignores what the hypotheses were worth")
def _(log_prob, following, size):
    best = following.flatten().topk(size).indices.tolist()
    return [divmod(i, following.size(1)) for i in best]


@wrong("extend_beam", "divides by the beam, not by the vocabulary")
def _(log_prob, following, size):
    scores = (log_prob[:, None] + following).flatten()
    beam = len(log_prob)
    return [(i // beam, i % beam) for i in scores.topk(size).indices.tolist()]


@wrong("extend_beam", "pairs turned round: (token, row)")
def _(log_prob, following, size):
    scores = (log_prob[:, None] + following).flatten()
    V = following.size(1)
    return [(i % V, i // V) for i in scores.topk(size).indices.tolist()]


@wrong("extend_beam", "adds log_prob along the tokens: fails unless square")
def _(log_prob, following, size):
    scores = (log_prob + following).flatten()
    V = following.size(1)
    return [(i // V, i % V) for i in scores.topk(size).indices.tolist()]


@wrong("extend_beam", "the best token of each hypothesis only")
def _(log_prob, following, size):
    best, token = (log_prob[:, None] + following).max(dim=1)
    order = best.argsort(descending=True)[:size]
    return [(r, token[r].item()) for r in order.tolist()]


@wrong("extend_beam", "worst first: ascending order")
def _(log_prob, following, size):
    scores = (log_prob[:, None] + following).flatten()
    V = following.size(1)
    return [divmod(i, V) for i in scores.argsort()[-size:].tolist()]


@wrong("extend_beam", "adds probability and log-probability")
def _(log_prob, following, size):
    scores = (log_prob[:, None].exp() + following).flatten()
    V = following.size(1)
    return [divmod(i, V) for i in scores.topk(size).indices.tolist()]


@wrong("extend_beam", "multiplies log-probabilities")
def _(log_prob, following, size):
    scores = (log_prob[:, None] * following).flatten()
    V = following.size(1)
    return [divmod(i, V) for i in scores.topk(size).indices.tolist()]


@wrong("extend_beam", "first the best hypotheses, then each one's best tokens, unsorted over rows")
def _(log_prob, following, size):
    out = []
    for r in log_prob.argsort(descending=True).tolist():
        for t in following[r].topk(min(size, following.size(1))).indices.tolist():
            out.append((r, t))
    return out[:size]


@wrong("extend_beam", "gives as many as the beam has, not `size`")
def _(log_prob, following, size):
    scores = (log_prob[:, None] + following).flatten()
    V = following.size(1)
    return [divmod(i, V) for i in scores.topk(len(log_prob)).indices.tolist()]


@wrong("extend_beam", "at most beam candidates of each row, two per row")
def _(log_prob, following, size):
    top, tok = (log_prob[:, None] + following).topk(2, dim=1)
    flat = top.flatten().topk(min(size, top.numel())).indices.tolist()
    return [(i // 2, tok[i // 2, i % 2].item()) for i in flat]


@wrong("extend_beam", "looks every value up in the best row only")
def _(log_prob, following, size):
    scores = log_prob[:, None] + following
    rows = scores.max(dim=1).values.argsort(descending=True).tolist()
    best = scores.flatten().sort(descending=True).values[:size]
    return [(rows[0], (scores[rows[0]] - v).abs().argmin().item()) for v in best]


# ---------------------------------------------------------------- 7 exact_search
@right("exact_search")
def _(following, bos, eos):
    heap = [(0.0, [bos])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        if tokens[-1] == eos and len(tokens) > 1:
            return tokens[1:-1]
        for token, lp in enumerate(following(tokens).tolist()):
            if lp > -math.inf:
                heapq.heappush(heap, (cost - lp, tokens + [token]))
    return []


@right("exact_search")
def _(following, bos, eos):
    # depth first, with a bound
    best = [-math.inf, []]

    def visit(tokens, lp):
        scores = following(tokens)
        end = lp + scores[eos].item()
        if end > best[0]:
            best[:] = [end, tokens[1:]]
        for t in scores.argsort(descending=True).tolist():
            new = lp + scores[t].item()
            if t == eos:
                continue
            if new <= best[0]:
                break
            visit(tokens + [t], new)

    visit([bos], 0.0)
    return best[1]


@right("exact_search")
def _(following, bos, eos):
    # level by level: all beginnings that can still win
    best, answer = -math.inf, []
    level = [([bos], 0.0)]
    while level:
        new = []
        for tokens, lp in level:
            scores = lp + following(tokens)
            if scores[eos] > best:
                best, answer = scores[eos].item(), tokens[1:]
            new += [(tokens + [t], s) for t, s in enumerate(scores.tolist()) if t != eos]
        level = [(tokens, s) for tokens, s in new if s > best]
    return answer


@wrong("exact_search", "greedy")
def _(following, bos, eos):
    tokens = [bos]
    while len(tokens) < 50:
        t = following(tokens).argmax().item()
        if t == eos:
            break
        tokens.append(t)
    return tokens[1:]


@wrong("exact_search", "a beam of 2")
def _(following, bos, eos):
    beam, done = [(0.0, [bos])], []
    for _ in range(50):
        new = []
        for lp, tokens in beam:
            for t, x in enumerate(following(tokens).tolist()):
                new.append((lp + x, tokens + [t]))
        new.sort(key=lambda h: -h[0])
        done += [h for h in new[:2] if h[1][-1] == eos]
        beam = [h for h in new[:2] if h[1][-1] != eos]
        if not beam:
            break
    return max(done, key=lambda h: h[0], default=(0, [bos, eos]))[1][1:-1]


@wrong("exact_search", "returns bos and eos, too")
def _(following, bos, eos):
    heap = [(0.0, [bos])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        if tokens[-1] == eos:
            return tokens
        for t, lp in enumerate(following(tokens).tolist()):
            heapq.heappush(heap, (cost - lp, tokens + [t]))


@wrong("exact_search", "keeps eos at the end")
def _(following, bos, eos):
    heap = [(0.0, [bos])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        if tokens[-1] == eos:
            return tokens[1:]
        for t, lp in enumerate(following(tokens).tolist()):
            heapq.heappush(heap, (cost - lp, tokens + [t]))


@wrong("exact_search", "stops at the first hypothesis whose likeliest next token is eos")
def _(following, bos, eos):
    heap = [(0.0, [bos])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        scores = following(tokens)
        if scores.argmax() == eos:
            return tokens[1:]
        for t, lp in enumerate(scores.tolist()):
            if t != eos:
                heapq.heappush(heap, (cost - lp, tokens + [t]))


@wrong("exact_search", "the log-probability of eos is left out of the score")
def _(following, bos, eos):
    heap = [(0.0, [bos])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        if tokens[-1] == eos:
            return tokens[1:-1]
        for t, lp in enumerate(following(tokens).tolist()):
            heapq.heappush(heap, (cost if t == eos else cost - lp, tokens + [t]))


@wrong("exact_search", "never considers the empty sentence")
def _(following, bos, eos):
    heap = [(0.0, [bos])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        if tokens[-1] == eos:
            return tokens[1:-1]
        for t, lp in enumerate(following(tokens).tolist()):
            if t == eos and len(tokens) == 1:
                continue
            heapq.heappush(heap, (cost - lp, tokens + [t]))


@wrong("exact_search", "compares by the mean per token: a length penalty after all")
def _(following, bos, eos):
    best, answer = -math.inf, []
    level = [([bos], 0.0)]
    for _ in range(6):
        new = []
        for tokens, lp in level:
            scores = (lp + following(tokens)).tolist()
            if scores[eos] / len(tokens) > best:
                best, answer = scores[eos] / len(tokens), tokens[1:]
            new += [(tokens + [t], s) for t, s in enumerate(scores) if t != eos]
        level = [(w, s) for w, s in new if s / (len(w) - 1) > best]
    return answer


@right("exact_search")
def _(following, bos, eos):
    words = [t for t in range(len(following([bos]))) if t not in (bos, eos)]
    best, answer = -math.inf, []
    for n in range(4):
        for sentence in product(words, repeat=n):
            tokens, lp = [bos], 0.0
            for t in (*sentence, eos):
                lp += following(tokens)[t].item()
                tokens.append(t)
            if lp > best:
                best, answer = lp, list(sentence)
    return answer


@wrong("exact_search", "the model is not given bos")
def _(following, bos, eos):
    heap = [(0.0, [])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        if tokens and tokens[-1] == eos:
            return tokens[:-1]
        for t, lp in enumerate(following(tokens).tolist()):
            heapq.heappush(heap, (cost - lp, tokens + [t]))


@right("exact_search")
def _(following, bos, eos):
    # a hypothesis is dropped if its token is less likely than ending here
    best, answer = -math.inf, []
    level = [([bos], 0.0)]
    while level:
        new = []
        for tokens, lp in level:
            scores = following(tokens)
            if lp + scores[eos] > best:
                best, answer = (lp + scores[eos]).item(), tokens[1:]
            for t, s in enumerate(scores.tolist()):
                if t != eos and s > scores[eos] and lp + s > best:
                    new.append((tokens + [t], lp + s))
        level = new
    return answer


@wrong("exact_search", "gives the log-probability along with the tokens")
def _(following, bos, eos):
    heap, number = [(0.0, 0, [bos])], count(1)
    while heap:
        cost, _, tokens = heapq.heappop(heap)
        if tokens[-1] == eos:
            return tokens[1:-1], -cost
        for t, lp in enumerate(following(tokens).tolist()):
            heapq.heappush(heap, (cost - lp, next(number), tokens + [t]))


@wrong("exact_search", "heap by probability product that forgets the past: only the last factor")
def _(following, bos, eos):
    heap = [(0.0, [bos])]
    while heap:
        _, tokens = heapq.heappop(heap)
        if tokens[-1] == eos:
            return tokens[1:-1]
        for t, lp in enumerate(following(tokens).tolist()):
            heapq.heappush(heap, (-lp, tokens + [t]))

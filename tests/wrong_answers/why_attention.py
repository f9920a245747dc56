"""Answers of readers who saw only the statement."""
import math

import torch
from torch.nn import functional as F

from answers import right, wrong

# ---------------------------------------------------------------- 1 window


@right("window")
def _(n, r):
    return (torch.arange(n)[:, None] - torch.arange(n)).abs() <= r // 2


@right("window")
def _(n, r):
    ones = torch.ones(n, n, dtype=torch.bool)
    return ones.tril(r // 2) & ones.triu(-(r // 2))


@right("window")
def _(n, r):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - r // 2) : i + r // 2 + 1] = True
    return mask


@wrong("window", "strictly smaller than half the window")
def _(n, r):
    i = torch.arange(n)
    return (i[:, None] - i[None, :]).abs() < r // 2


@wrong("window", "takes r as the distance on each side")
def _(n, r):
    i = torch.arange(n)
    return (i[:, None] - i).abs() <= r


@wrong("window", "forgets abs, so all later keys are visible")
def _(n, r):
    return torch.arange(n)[:, None] - torch.arange(n) <= r // 2


@wrong("window", "mask is True where attention is forbidden")
def _(n, r):
    return (torch.arange(n)[:, None] - torch.arange(n)).abs() > r // 2


@wrong("window", "the window looks only backwards (causal)")
def _(n, r):
    back = torch.arange(n)[:, None] - torch.arange(n)
    return (back >= 0) & (back <= r // 2)


@wrong("window", "negative slice start at the left border")
def _(n, r):
    mask = torch.zeros(n, n, dtype=torch.bool)
    half = r // 2
    for i in range(n):
        mask[i, i - half : i + half + 1] = True
    return mask


@wrong("window", "Python slice without the + 1")
def _(n, r):
    mask = torch.zeros(n, n, dtype=torch.bool)
    half = r // 2
    for i in range(n):
        mask[i, max(i - half, 0) : i + half] = True
    return mask


@wrong("window", "rounds r/2 up")
def _(n, r):
    pos = torch.arange(n)
    return torch.abs(pos.unsqueeze(1) - pos.unsqueeze(0)) <= math.ceil(r / 2)


@wrong("window", "an additive mask of 0 and -inf")
def _(n, r):
    far = (torch.arange(n)[:, None] - torch.arange(n)).abs() > r // 2
    return torch.zeros(n, n).masked_fill(far, -math.inf)


@wrong("window", "window wraps round the ends of the sentence")
def _(n, r):
    d = (torch.arange(n)[:, None] - torch.arange(n)) % n
    return (d <= r // 2) | (d >= n - r // 2)


# ---------------------------------------------------------------- 2 wasted pairs


@right("wasted_pairs")
def _(lengths):
    longest = max(lengths)
    used = sum(n * n for n in lengths)
    return 1 - used / (len(lengths) * longest**2)


@right("wasted_pairs")
def _(lengths):
    lengths = torch.as_tensor(lengths)
    real = torch.arange(int(lengths.max())) < lengths[:, None]
    pairs = real[:, :, None] & real[:, None, :]
    return (~pairs).double().mean().item()


@right("wasted_pairs")
def _(lengths):
    longest = max(lengths)
    wasted = cells = 0
    for n in lengths:
        for query in range(longest):
            for key in range(longest):
                cells += 1
                if query >= n or key >= n:
                    wasted += 1
    return wasted / cells


@wrong("wasted_pairs", "share of padded words, not of pairs")
def _(lengths):
    return 1 - sum(lengths) / (len(lengths) * max(lengths))


@wrong("wasted_pairs", "counts only cells whose query AND key are padding")
def _(lengths):
    m = max(lengths)
    return sum((m - n) ** 2 for n in lengths) / (len(lengths) * m**2)


@wrong("wasted_pairs", "counts only padded keys of real queries")
def _(lengths):
    m = max(lengths)
    return sum(n * (m - n) for n in lengths) / (len(lengths) * m**2)


@wrong("wasted_pairs", "counts cells twice where both are padding")
def _(lengths):
    m = max(lengths)
    return sum(2 * m * (m - n) for n in lengths) / (len(lengths) * m**2)


@wrong("wasted_pairs", "the share that is used")
def _(lengths):
    return sum(n**2 for n in lengths) / (len(lengths) * max(lengths) ** 2)


@wrong("wasted_pairs", "squares the sum of the lengths")
def _(lengths):
    return 1 - sum(lengths) ** 2 / (len(lengths) * max(lengths)) ** 2


@wrong("wasted_pairs", "forgets the number of sentences")
def _(lengths):
    m = max(lengths)
    return sum(m**2 - n**2 for n in lengths) / m**2


@wrong("wasted_pairs", "wasted over used instead of over all")
def _(lengths):
    m = max(lengths)
    used = sum(n**2 for n in lengths)
    return (len(lengths) * m**2 - used) / used


@wrong("wasted_pairs", "integer division")
def _(lengths):
    m = max(lengths)
    wasted = sum(m * m - n * n for n in lengths)
    return wasted // (len(lengths) * m * m)


# ---------------------------------------------------------------- 3 break even


@right("break_even")
def _(n, g, d):
    multi_head = 2 * (4 * n * d**2 + 2 * n**2 * d) / n
    recurrent = 4 * g * d**2
    star = (g - 2) * d
    share = (g - 2) / g
    times = 2 * (g - 1) / g
    return multi_head, recurrent, star, share, times


@right("break_even")
def _(n, g, d):
    def heads(n):
        return 8 * d * d + 4 * n * d

    rec = 4 * g * d * d
    star = (rec - 8 * d * d) / (4 * d)
    return [heads(n), rec, star, 4 * star * d / heads(star), heads(2 * star) / rec]


@wrong("break_even", "one word: the whole layer, not divided by n")
def _(n, g, d):
    return 2 * (4 * n * d**2 + 2 * n**2 * d), 4 * g * n * d**2, (g - 2) * d, 1 - 2 / g, 2 - 2 / g


@wrong("break_even", "cancels n in the first term only")
def _(n, g, d):
    return 8 * d**2 + 4 * n**2 * d, 4 * g * d**2, (g - 2) * d, 1 - 2 / g, 2 - 2 / g


@wrong("break_even", "loses the factor 2 outside the bracket in step 1")
def _(n, g, d):
    return 4 * d**2 + 2 * n * d, 4 * g * d**2, (g - 2) * d, (g - 2) / g, 2 * (g - 1) / g


@wrong("break_even", "and follows it through: n* = 2(g - 1) d")
def _(n, g, d):
    heads = 4 * d**2 + 2 * n * d
    rec = 4 * g * d**2
    star = 2 * (g - 1) * d
    share = 2 * star * d / rec
    return heads, rec, star, share, (4 * d**2 + 4 * star * d) / rec


@wrong("break_even", "g - 1 in place of g - 2")
def _(n, g, d):
    return 8 * d**2 + 4 * n * d, 4 * g * d**2, (g - 1) * d, (g - 1) / g, 2 * (g - 1) / g


@wrong("break_even", "gives the share of the projections")
def _(n, g, d):
    return 8 * d**2 + 4 * n * d, 4 * g * d**2, (g - 2) * d, 2 / g, 2 * (g - 1) / g


@wrong("break_even", "twice the length is twice the operations")
def _(n, g, d):
    return 8 * d**2 + 4 * n * d, 4 * g * d**2, (g - 2) * d, (g - 2) / g, 2


@wrong("break_even", "compares 2n* with the recurrent layer at n*")
def _(n, g, d):
    star = (g - 2) * d
    whole = lambda m: 2 * (4 * m * d**2 + 2 * m**2 * d)
    return (8 * d**2 + 4 * n * d, 4 * g * d**2, star, (g - 2) / g,
            whole(2 * star) / (4 * g * star * d**2))


@wrong("break_even", "share at the given n in place of n*")
def _(n, g, d):
    a, b = 8 * d**2 + 4 * n * d, 4 * g * d**2
    return a, b, (g - 2) * d, 4 * n * d / a, 2 * (g - 1) / g


@wrong("break_even", "n* hard-coded for the LSTM")
def _(n, g, d):
    return 8 * d**2 + 4 * n * d, 4 * g * d**2, 2 * d, 1 / 2, 3 / 2


@wrong("break_even", "stops after three steps")
def _(n, g, d):
    return 8 * d**2 + 4 * n * d, 4 * g * d**2, (g - 2) * d


# ---------------------------------------------------------------- 4 doubling reach (a value)
# Inferred: kernel of three, outputs look back (9 = 1 + 2*4 and 81 = 1 + 2*(1+3+9+27) are the
# lengths of the chapter), so 1 + 2*(1+2+4+8).

right("doubling_reach")(31)
wrong("doubling_reach", "forgets the word itself")(30)
wrong("doubling_reach", "adds up the gaps only once, kernel of two")(16)
wrong("doubling_reach", "sum of the gaps")(15)
wrong("doubling_reach", "one too many: the first length that fails")(32)
wrong("doubling_reach", "the longest gap alone, to both sides")(17)
wrong("doubling_reach", "gaps triple")(81)
wrong("doubling_reach", "believes the one length that was printed")(9)
wrong("doubling_reach", "counts the words skipped: a gap of 1 is a distance of 2")(39)

# ---------------------------------------------------------------- 5 record of times (a value)

right("record_of_times")("AC")
wrong("record_of_times", "thinks quadratic cost shows at every length")("ABC")
wrong("record_of_times", "generalises beyond the measured lengths")("ACD")
wrong("record_of_times", "takes an explanation for a measurement")("ACE")
wrong("record_of_times", "overlooks the written-out column")("A")
wrong("record_of_times", "reads A the wrong way round")("C")
wrong("record_of_times", "accepts all that sounds right")("ACDE")
wrong("record_of_times", "gives those that are not supported")("BDE")
wrong("record_of_times", "takes everything")("ABCDE")

# ---------------------------------------------------------------- 6 path length


@right("path_length")
def _(may_read):
    step = may_read.long()
    reached = step
    for depth in range(1, len(may_read) + 1):
        if reached.all():
            return depth
        reached = (reached @ step).clamp(max=1)


@right("path_length")
def _(may_read):
    n = len(may_read)
    longest = 0
    for start in range(n):
        seen, depth = {start}, 0
        while len(seen) < n:
            seen = {j for i in seen for j in range(n) if may_read[i, j]}
            depth += 1
        longest = max(longest, depth)
    return max(longest, 1)


@right("path_length")
def _(may_read):
    n = len(may_read)
    far = torch.full((n, n), math.inf)
    far[may_read] = 1
    far.fill_diagonal_(0)
    for k in range(n):
        far = torch.minimum(far, far[:, k : k + 1] + far[k : k + 1])
    return max(1, int(far.max()))


@wrong("path_length", "leaves the squaring and returns a power of two")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached.all():
            return 2 ** (depth - 1)
        reached = (reached @ reached).clamp(max=1)


@wrong("path_length", "doubles the count of the friend")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached.all():
            return 2 * depth
        reached = (reached @ reached).clamp(max=1)


@wrong("path_length", "begins with the identity but keeps counting from 1")
def _(may_read):
    reached = torch.eye(len(may_read), dtype=torch.long)
    for depth in range(1, len(may_read) + 2):
        if reached.all():
            return depth
        reached = (reached @ may_read.long()).clamp(max=1)


@wrong("path_length", "counts the products, not the layers")
def _(may_read):
    reached = may_read.long()
    for depth in range(len(may_read)):
        if reached.all():
            return depth
        reached = (reached @ may_read.long()).clamp(max=1)


@wrong("path_length", "asks for any instead of all")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached.any(dim=0).any():
            return depth
        reached = (reached @ may_read.long()).clamp(max=1)


@wrong("path_length", "stops as soon as one output sees everything")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached.all(dim=1).any():
            return depth
        reached = (reached @ may_read.long()).clamp(max=1)


@wrong("path_length", "looks at the last output and first input alone")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached[-1, 0]:
            return depth
        reached = (reached @ may_read.long()).clamp(max=1)


@wrong("path_length", "multiplies with the transpose")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached.all():
            return depth
        reached = (reached @ may_read.long().T).clamp(max=1)


@wrong("path_length", "assumes a window: divides the length by its reach")
def _(may_read):
    n = len(may_read)
    reach = int(may_read[0].sum()) - 1
    return math.ceil((n - 1) / reach)


@wrong("path_length", "element-wise product: runs to the end and gives None")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached.all():
            return depth
        reached = (reached * may_read.long()).clamp(max=1)


@wrong("path_length", "leaves the function as it is")
def _(may_read):
    reached = may_read.long()
    for depth in range(1, len(may_read) + 1):
        if reached.all():
            return depth
        reached = (reached @ reached).clamp(max=1)


# ---------------------------------------------------------------- 7 block attention


@right("block_attention")
def _(query, key, value, width):
    n, d_k = query.shape
    highest = query.new_full((n, 1), -math.inf)
    total = query.new_zeros(n, 1)
    weighted = query.new_zeros(n, value.size(1))
    for start in range(0, len(key), width):
        k, v = key[start : start + width], value[start : start + width]
        scores = query @ k.T / math.sqrt(d_k)
        new = torch.maximum(highest, scores.max(dim=1, keepdim=True).values)
        shrink = torch.exp(highest - new)
        e = torch.exp(scores - new)
        total = total * shrink + e.sum(dim=1, keepdim=True)
        weighted = weighted * shrink + e @ v
        highest = new
    return weighted / total


@right("block_attention")
def _(query, key, value, width):
    rows = []
    for q in query:
        top, mass, out = torch.tensor(-math.inf), 0.0, 0.0
        for k, v in zip(key.split(width), value.split(width)):
            s = (k @ q) * len(q) ** -0.5
            new = torch.maximum(top, s.max())
            e = (s - new).exp()
            f = (top - new).exp()
            mass = mass * f + e.sum()
            out = out * f + (e[:, None] * v).sum(0)
            top = new
        rows.append(out / mass)
    return torch.stack(rows)


@right("block_attention")
def _(query, key, value, width):
    log_sum = out = None
    for k, v in zip(key.split(width), value.split(width)):
        scores = query @ k.mT / query.size(-1) ** 0.5
        part, part_log = scores.softmax(-1) @ v, scores.logsumexp(-1, keepdim=True)
        if out is None:
            out, log_sum = part, part_log
        else:
            share = torch.sigmoid(part_log - log_sum)
            out = out + share * (part - out)
            log_sum = torch.logaddexp(log_sum, part_log)
    return out


@wrong("block_attention", "no division by sqrt(d_k)")
def _(query, key, value, width):
    m = torch.full((len(query), 1), -math.inf, dtype=query.dtype)
    s = torch.zeros_like(m)
    o = torch.zeros(len(query), value.size(1), dtype=query.dtype)
    for i in range(0, len(key), width):
        scores = query @ key[i : i + width].T
        new = torch.maximum(m, scores.amax(1, keepdim=True))
        e = torch.exp(scores - new)
        c = torch.exp(m - new)
        s = s * c + e.sum(1, keepdim=True)
        o = o * c + e @ value[i : i + width]
        m = new
    return o / s


@wrong("block_attention", "scales by the width of the values")
def _(query, key, value, width):
    m = torch.full((len(query), 1), -math.inf, dtype=query.dtype)
    s = torch.zeros_like(m)
    o = torch.zeros(len(query), value.size(1), dtype=query.dtype)
    for i in range(0, len(key), width):
        scores = query @ key[i : i + width].T / math.sqrt(value.size(1))
        new = torch.maximum(m, scores.amax(1, keepdim=True))
        e = torch.exp(scores - new)
        c = torch.exp(m - new)
        s = s * c + e.sum(1, keepdim=True)
        o = o * c + e @ value[i : i + width]
        m = new
    return o / s


@wrong("block_attention", "shrinks the sum, not the weighted values")
def _(query, key, value, width):
    m = torch.full((len(query), 1), -math.inf, dtype=query.dtype)
    s = torch.zeros_like(m)
    o = torch.zeros(len(query), value.size(1), dtype=query.dtype)
    for i in range(0, len(key), width):
        scores = query @ key[i : i + width].T / math.sqrt(query.size(1))
        new = torch.maximum(m, scores.amax(1, keepdim=True))
        e = torch.exp(scores - new)
        s = s * torch.exp(m - new) + e.sum(1, keepdim=True)
        o = o + e @ value[i : i + width]
        m = new
    return o / s


@wrong("block_attention", "drops the last keys where width does not divide m")
def _(query, key, value, width):
    m = torch.full((len(query), 1), -math.inf, dtype=query.dtype)
    s = torch.zeros_like(m)
    o = torch.zeros(len(query), value.size(1), dtype=query.dtype)
    for b in range(len(key) // width):
        block = slice(b * width, (b + 1) * width)
        scores = query @ key[block].T / math.sqrt(query.size(1))
        new = torch.maximum(m, scores.amax(1, keepdim=True))
        e = torch.exp(scores - new)
        c = torch.exp(m - new)
        s = s * c + e.sum(1, keepdim=True)
        o = o * c + e @ value[block]
        m = new
    return o / s


@wrong("block_attention", "starts the maximum at 0, sum vanishes for very negative scores")
def _(query, key, value, width):
    m = torch.zeros(len(query), 1, dtype=query.dtype)
    s = torch.zeros_like(m)
    o = torch.zeros(len(query), value.size(1), dtype=query.dtype)
    for i in range(0, len(key), width):
        scores = query @ key[i : i + width].T / math.sqrt(query.size(1))
        new = torch.maximum(m, scores.amax(1, keepdim=True))
        e = torch.exp(scores - new)
        c = torch.exp(m - new)
        s = s * c + e.sum(1, keepdim=True)
        o = o * c + e @ value[i : i + width]
        m = new
    return o / s


@wrong("block_attention", "one maximum for all queries")
def _(query, key, value, width):
    m = torch.tensor(-math.inf, dtype=query.dtype)
    s = torch.zeros(len(query), 1, dtype=query.dtype)
    o = torch.zeros(len(query), value.size(1), dtype=query.dtype)
    for i in range(0, len(key), width):
        scores = query @ key[i : i + width].T / math.sqrt(query.size(1))
        new = torch.maximum(m, scores.max())
        e = torch.exp(scores - new)
        c = torch.exp(m - new)
        s = s * c + e.sum(1, keepdim=True)
        o = o * c + e @ value[i : i + width]
        m = new
    return o / s


@wrong("block_attention", "takes the block's maximum for the running one")
def _(query, key, value, width):
    m = torch.full((len(query), 1), -math.inf, dtype=query.dtype)
    s = torch.zeros_like(m)
    o = torch.zeros(len(query), value.size(1), dtype=query.dtype)
    for i in range(0, len(key), width):
        scores = query @ key[i : i + width].T / math.sqrt(query.size(1))
        new = scores.amax(1, keepdim=True)
        e = torch.exp(scores - new)
        c = torch.exp(m - new)
        s = s * c + e.sum(1, keepdim=True)
        o = o * c + e @ value[i : i + width]
        m = new
    return o / s


@wrong("block_attention", "the plain exponentials without any maximum")
def _(query, key, value, width):
    top = bottom = 0
    for k, v in zip(key.split(width), value.split(width)):
        e = torch.exp(query @ k.T / math.sqrt(query.size(1)))
        top = top + e @ v
        bottom = bottom + e.sum(1, keepdim=True)
    return top / bottom


@wrong("block_attention", "averages the softmaxes of the blocks")
def _(query, key, value, width):
    parts = []
    for k, v in zip(key.split(width), value.split(width)):
        parts.append(torch.softmax(query @ k.T / math.sqrt(query.size(1)), dim=1) @ v)
    return torch.stack(parts).mean(0)


@wrong("block_attention", "two passes: takes exp of all scores at once after finding the maximum")
def _(query, key, value, width):
    scores = torch.cat([query @ k.T for k in key.split(width)], dim=1) / math.sqrt(query.size(1))
    e = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
    return e @ value / e.sum(dim=1, keepdim=True)


@wrong("block_attention", "the ordinary attention, all keys at once")
def _(query, key, value, width):
    return F.scaled_dot_product_attention(query, key, value)


@wrong("block_attention", "cuts the queries in blocks, not the keys")
def _(query, key, value, width):
    return torch.cat(
        [torch.softmax(q @ key.T / math.sqrt(q.size(1)), dim=1) @ value for q in query.split(width)]
    )


@wrong("block_attention", "corrects in the wrong direction")
def _(query, key, value, width):
    m = None
    for k, v in zip(key.split(width), value.split(width)):
        scores = query @ k.T / math.sqrt(query.size(1))
        high = scores.max(1, keepdim=True)[0]
        if m is None:
            m = high
            e = torch.exp(scores - m)
            s, o = e.sum(1, keepdim=True), e @ v
        else:
            new = torch.maximum(m, high)
            e = torch.exp(scores - new)
            s = s * torch.exp(new - m) + e.sum(1, keepdim=True)
            o = o * torch.exp(new - m) + e @ v
            m = new
    return o / s

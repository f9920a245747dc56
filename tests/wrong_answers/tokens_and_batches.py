"""Answers of readers who saw only the statement."""
import math

import torch
from torch.nn import functional as F

from annotated_transformer.tokens import BOS, EOS, PAD
from answers import right, wrong

# ---------------------------------------------------------------- 1 count_tokens


@right("count_tokens")
def _(ids):
    return (ids != PAD).sum(dim=1)


@right("count_tokens")
def _(ids):
    return torch.tensor([sum(1 for i in row if i != PAD) for row in ids.tolist()])


@right("count_tokens")
def _(ids):
    return torch.count_nonzero(ids, dim=-1)


@wrong("count_tokens", "counts the padding too")
def _(ids):
    return torch.full((ids.size(0),), ids.size(1))


@wrong("count_tokens", "one number for the whole batch")
def _(ids):
    return (ids != PAD).sum()


@wrong("count_tokens", "counts along the columns")
def _(ids):
    return (ids != PAD).sum(0)


@wrong("count_tokens", "leaves out EOS as well")
def _(ids):
    return ((ids != PAD) & (ids != EOS)).sum(dim=1)


@wrong("count_tokens", "adds up the ids instead of counting them")
def _(ids):
    return ids.sum(dim=1)


@wrong("count_tokens", "place of the first PAD, which is 0 where there is none")
def _(ids):
    return (ids == PAD).int().argmax(dim=1)


@wrong("count_tokens", "counts the padding, == for !=")
def _(ids):
    return (ids == PAD).sum(dim=1)


@wrong("count_tokens", "index of the last token, one too small")
def _(ids):
    places = torch.arange(ids.size(1)).expand_as(ids)
    return places.masked_fill(ids == PAD, 0).amax(dim=1)


@wrong("count_tokens", "counts different tokens, repeated ones once")
def _(ids):
    return torch.tensor([len(set(row.tolist()) - {PAD}) for row in ids])


# ---------------------------------------------------------------- 2 shift


@right("shift")
def _(tgt_out):
    shifted = torch.cat([torch.full_like(tgt_out[:, :1], BOS), tgt_out[:, :-1]], dim=1)
    return shifted.masked_fill(shifted == EOS, PAD)


@right("shift")
def _(tgt_out):
    rows = []
    for row in tgt_out.tolist():
        words = [i for i in row if i not in (PAD, EOS)]
        rows.append([BOS] + words + [PAD] * (len(row) - len(words) - 1))
    return torch.tensor(rows)


@right("shift")
def _(tgt_out):
    result = tgt_out.roll(1, dims=1)
    result[:, 0] = BOS
    return torch.where(tgt_out == PAD, PAD, result)


@wrong("shift", "leaves EOS in the shorter sentences")
def _(tgt_out):
    bos = torch.full((tgt_out.size(0), 1), BOS)
    return torch.cat([bos, tgt_out[:, :-1]], dim=1)


@wrong("shift", "rolls, so that the last token comes to the front")
def _(tgt_out):
    shifted = torch.roll(tgt_out, 1, dims=1)
    return shifted.masked_fill(shifted == EOS, PAD)


@wrong("shift", "one column too many")
def _(tgt_out):
    bos = torch.full((tgt_out.size(0), 1), BOS)
    return torch.cat([bos, tgt_out.masked_fill(tgt_out == EOS, PAD)], dim=1)


@wrong("shift", "shifts to the left")
def _(tgt_out):
    result = torch.zeros_like(tgt_out)
    result[:, :-1] = tgt_out[:, 1:]
    result[:, 0] = BOS
    return result.masked_fill(result == EOS, PAD)


@wrong("shift", "writes BOS over the first word without moving anything")
def _(tgt_out):
    result = tgt_out.clone()
    result[:, 0] = BOS
    result[result == EOS] = PAD
    return result


@wrong("shift", "begins with EOS")
def _(tgt_out):
    shifted = torch.cat([torch.full_like(tgt_out[:, :1], EOS), tgt_out[:, :-1]], dim=1)
    shifted[:, 1:][shifted[:, 1:] == EOS] = PAD
    return shifted


@wrong("shift", "removes only an EOS in the last column")
def _(tgt_out):
    shifted = torch.cat([torch.full_like(tgt_out[:, :1], BOS), tgt_out[:, :-1]], dim=1)
    last = shifted[:, -1]
    shifted[:, -1] = torch.where(last == EOS, PAD, last)
    return shifted


@wrong("shift", "shifts along the batch")
def _(tgt_out):
    bos = torch.full_like(tgt_out[:1], BOS)
    shifted = torch.cat([bos, tgt_out[:-1]], dim=0)
    return shifted.masked_fill(shifted == EOS, PAD)


@wrong("shift", "puts BOS where EOS was, as if the sentence ran backwards")
def _(tgt_out):
    return torch.where(tgt_out == EOS, BOS, tgt_out)


@wrong("shift", "stacks rows without padding, fails for unequal sentences")
def _(tgt_out):
    rows = []
    for row in tgt_out:
        words = row[(row != PAD) & (row != EOS)]
        rows.append(torch.cat([torch.tensor([BOS]), words]))
    return torch.stack(rows)


# ---------------------------------------------------------------- 3 perplexity_of_two


@right("perplexity_of_two")
def _(first, second):
    return math.exp((sum(first) + sum(second)) / (len(first) + len(second)))


@right("perplexity_of_two")
def _(first, second):
    return torch.tensor([*first, *second]).mean().exp().item()


@right("perplexity_of_two")
def _(first, second):
    product = 1.0
    for s in list(first) + list(second):
        product *= math.exp(s)  # 1 / probability
    return product ** (1 / (len(first) + len(second)))


@wrong("perplexity_of_two", "mean of the two perplexities")
def _(first, second):
    a = math.exp(sum(first) / len(first))
    b = math.exp(sum(second) / len(second))
    return (a + b) / 2


@wrong("perplexity_of_two", "exp of the mean of the two means")
def _(first, second):
    return math.exp((sum(first) / len(first) + sum(second) / len(second)) / 2)


@wrong("perplexity_of_two", "perplexities weighted by the lengths")
def _(first, second):
    n, m = len(first), len(second)
    return (n * math.exp(sum(first) / n) + m * math.exp(sum(second) / m)) / (n + m)


@wrong("perplexity_of_two", "two to the power of nats")
def _(first, second):
    both = first + second
    return 2 ** (sum(both) / len(both))


@wrong("perplexity_of_two", "does not divide by the number of tokens")
def _(first, second):
    return math.exp(sum(first) + sum(second))


@wrong("perplexity_of_two", "mean surprisal, no exp")
def _(first, second):
    both = first + second
    return sum(both) / len(both)


@wrong("perplexity_of_two", "a minus too many")
def _(first, second):
    both = first + second
    return math.exp(-sum(both) / len(both))


@wrong("perplexity_of_two", "zip drops the end of the longer sentence")
def _(first, second):
    total = count = 0
    for a, b in zip(first, second):
        total += a + b
        count += 2
    return math.exp(total / count)


@wrong("perplexity_of_two", "mean of exp instead of exp of mean")
def _(first, second):
    both = torch.tensor(first + second)
    return both.exp().mean().item()


@wrong("perplexity_of_two", "divides by the number of sentences")
def _(first, second):
    return math.exp((sum(first) + sum(second)) / 2)


# ---------------------------------------------------------------- 4 mean_surprisal


@right("mean_surprisal")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    real = target != 0
    return (surprisal * real).sum() / real.sum()


@right("mean_surprisal")
def _(logits, target):
    return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=PAD)


@right("mean_surprisal")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return surprisal[target != 0].mean()


@wrong("mean_surprisal", "sum, not divided")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return (surprisal * (target != 0)).sum()


@wrong("mean_surprisal", "divides by the number of sentences")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return (surprisal * (target != 0)).sum() / len(target)


@wrong("mean_surprisal", "mean over the sentences of their means")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    mask = target != 0
    return ((surprisal * mask).sum(1) / mask.sum(1)).mean()


@wrong("mean_surprisal", "takes the mask away, padding counts in full")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return surprisal.mean()


@wrong("mean_surprisal", "leaves EOS out too")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    real = target > EOS
    return (surprisal * real).sum() / real.sum()


@wrong("mean_surprisal", "cross_entropy gets the classes on the last axis")
def _(logits, target):
    return F.cross_entropy(logits, target, ignore_index=0)


@wrong("mean_surprisal", "softmax over the positions")
def _(logits, target):
    log_probs = logits.log_softmax(1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return surprisal[target != 0].mean()


@wrong("mean_surprisal", "divides by how many are padding")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return (surprisal * (target != 0)).sum() / (target == 0).sum()


@wrong("mean_surprisal", "turns the mask round")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return surprisal.masked_fill(target != 0, 0).sum() / (target != 0).sum()


@wrong("mean_surprisal", "one value per sentence")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    surprisal = -log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    mask = target != 0
    return (surprisal * mask).sum(-1) / mask.sum(-1)


@wrong("mean_surprisal", "loses the minus")
def _(logits, target):
    log_probs = logits.log_softmax(-1)
    picked = log_probs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return picked[target != 0].mean()


# ---------------------------------------------------------------- 5 perplexity_of_lead


@right("perplexity_of_lead")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    surprisal = -math.log(p)
    perplexity = 1 + (n - 1) * math.exp(-a)
    needed_a = math.log((n - 1) / (k - 1))
    return p, surprisal, perplexity, needed_a


@right("perplexity_of_lead")
def _(n, a, k):
    p = 1 / (1 + (n - 1) / math.exp(a))
    return [p, math.log(1 / p), 1 / p, math.log(n - 1) - math.log(k - 1)]


@right("perplexity_of_lead")
def _(n, a, k):
    surprisal = math.log(math.exp(a) + n - 1) - a
    return math.exp(-surprisal), surprisal, math.exp(surprisal), -math.log((k - 1) / (n - 1))


@wrong("perplexity_of_lead", "n others instead of n - 1")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n)
    return p, -math.log(p), 1 + n * math.exp(-a), math.log(n / (k - 1))


@wrong("perplexity_of_lead", "surprisal in bits")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    s = -math.log2(p)
    return p, s, 2**s, math.log((n - 1) / (k - 1))


@wrong("perplexity_of_lead", "wrong sign of the exponent in the perplexity")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    return p, -math.log(p), 1 + (n - 1) * math.exp(a), math.log((n - 1) / (k - 1))


@wrong("perplexity_of_lead", "fraction upside down in the last step")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    return p, -math.log(p), 1 / p, math.log((k - 1) / (n - 1))


@wrong("perplexity_of_lead", "forgets to take the 1 to the other side")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + (n - 1))
    return p, -math.log(p), 1 + (n - 1) / math.exp(a), math.log((n - 1) / k)


@wrong("perplexity_of_lead", "surprisal without its minus")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    s = math.log(p)
    return p, s, math.exp(-s), math.log((n - 1) / (k - 1))


@wrong("perplexity_of_lead", "logits of the others are 0, so leaves them out")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + math.exp(0))
    s = -math.log(p)
    return p, s, math.exp(s), math.log((n - 1) / (k - 1))


@wrong("perplexity_of_lead", "last step not done")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    s = -math.log(p)
    return p, s, math.exp(s)


@wrong("perplexity_of_lead", "solves for its own perplexity, gets a back")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    perplexity = 1 / p
    return p, -math.log(p), perplexity, math.log((n - 1) / (perplexity - 1))


@wrong("perplexity_of_lead", "no logarithm in the last step")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    return p, -math.log(p), 1 / p, (n - 1) / (k - 1)


@wrong("perplexity_of_lead", "perplexity without the 1")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    return p, -math.log(p), (n - 1) * math.exp(-a), math.log((n - 1) / (k - 1))


# ---------------------------------------------------------------- 6 smallest_pool

right("smallest_pool")(256)
wrong("smallest_pool", "no sorting beyond a batch")(16)
wrong("smallest_pool", "guess without trying")(32)
wrong("smallest_pool", "a bit more, a guess")(64)
wrong("smallest_pool", "takes 7 % for small enough")(128)
wrong("smallest_pool", "looked for less than 2 %")(512)
wrong("smallest_pool", "the whole corpus")(1000)
wrong("smallest_pool", "number of batches in a pool, not sentences")(16 * 16 * 16)
wrong("smallest_pool", "the share of padding instead of the pool")(0.0316)
wrong("smallest_pool", "largest pool tried")(1024)


# ---------------------------------------------------------------- 7 fill_batches


@right("fill_batches")
def _(lengths, limit):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches = []
    for i in order:
        # sorted, so sentence i is the longest
        if batches and (len(batches[-1]) + 1) * lengths[i] <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


@right("fill_batches")
def _(lengths, limit):
    pairs = sorted(zip(lengths, range(len(lengths))))
    result, batch = [], []
    for length, place in pairs:
        if batch and (len(batch) + 1) * length > limit:
            result.append(tuple(batch))
            batch = []
        batch.append(place)
    if batch:
        result.append(tuple(batch))
    return result


@right("fill_batches")
def _(lengths, limit):
    if not lengths:
        return []
    order = torch.tensor(lengths).argsort(stable=True).tolist()
    out, start = [], 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * lengths[order[end]] <= limit:
            end += 1
        out.append(order[start:end])
        start = end
    return out


@wrong("fill_batches", "less than the limit instead of at most")
def _(lengths, limit):
    batches = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[i] < limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


@wrong("fill_batches", "adds up real tokens, without padding")
def _(lengths, limit):
    batches, total = [], 0
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and total + lengths[i] <= limit:
            batches[-1].append(i)
            total += lengths[i]
        else:
            batches.append([i])
            total = lengths[i]
    return batches


@wrong("fill_batches", "forgets the last batch")
def _(lengths, limit):
    result, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > limit:
            result.append(batch)
            batch = []
        batch.append(i)
    return result


@wrong("fill_batches", "returns the lengths instead of the places")
def _(lengths, limit):
    result, batch = [], []
    for n in sorted(lengths):
        if batch and (len(batch) + 1) * n > limit:
            result.append(batch)
            batch = []
        batch.append(n)
    return result + [batch]


@wrong("fill_batches", "longest first")
def _(lengths, limit):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i], reverse=True)
    batches = []
    for i in order:
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


@wrong("fill_batches", "does not sort")
def _(lengths, limit):
    result, batch, longest = [], [], 0
    for i, n in enumerate(lengths):
        if batch and (len(batch) + 1) * max(longest, n) > limit:
            result.append(batch)
            batch, longest = [], 0
        batch.append(i)
        longest = max(longest, n)
    return result + [batch]


@wrong("fill_batches", "places in the sorted list instead of in lengths")
def _(lengths, limit):
    batches = []
    for i, n in enumerate(sorted(lengths)):
        if batches and (len(batches[-1]) + 1) * n <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


@wrong("fill_batches", "tests with the longest before the new sentence")
def _(lengths, limit):
    batches = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][-1]] <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


@wrong("fill_batches", "does not count the new sentence")
def _(lengths, limit):
    batches = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batches and len(batches[-1]) * lengths[i] <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


@wrong("fill_batches", "equal lengths in reverse order")
def _(lengths, limit):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i], reverse=True)[::-1]
    batches = []
    for i in order:
        if batches and (len(batches[-1]) + 1) * lengths[i] <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


@wrong("fill_batches", "index finds the same place for equal lengths")
def _(lengths, limit):
    batches, batch = [], []
    for n in sorted(lengths):
        if batch and (len(batch) + 1) * n > limit:
            batches.append(batch)
            batch = []
        batch.append(lengths.index(n))
    batches.append(batch)
    return batches


@wrong("fill_batches", "counts an EOS for every sentence")
def _(lengths, limit):
    batches = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batches and (len(batches[-1]) + 1) * (lengths[i] + 1) <= limit:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches

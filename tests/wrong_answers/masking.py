"""Answers of readers who saw only the statement."""
import math

import torch
from torch.nn import functional as F

from answers import right, wrong

torch.set_default_dtype(torch.float64)
PAD, BOS, EOS = 0, 1, 2


# ---------------------------------------------------------------- 1 kept_ends
@right("kept_ends")
def _(lengths):
    longest = max(lengths)
    return sum(n < longest for n in lengths)


@right("kept_ends")
def _(lengths):
    width = max(lengths) + 2
    rows = [[BOS] + [7] * n + [EOS] + [PAD] * (width - n - 2) for n in lengths]
    tgt = torch.tensor(rows)
    return int((tgt[:, :-1] == EOS).any(dim=1).sum())


@right("kept_ends")
def _(lengths):
    return len(lengths) - lengths.count(max(lengths))


@wrong("kept_ends", "counts the rows that lose EOS")
def _(lengths):
    return lengths.count(max(lengths))


@wrong("kept_ends", "thinks only one row is the longest")
def _(lengths):
    return len(lengths) - 1


@wrong("kept_ends", "thinks the last column always holds every EOS")
def _(lengths):
    return 0


@wrong("kept_ends", "counts different lengths, not rows")
def _(lengths):
    return len(set(lengths)) - 1


@wrong("kept_ends", "one off: needs two columns of padding")
def _(lengths):
    width = max(lengths) + 1  # after [:, :-1]
    return sum(n + 2 < width for n in lengths)


@wrong("kept_ends", "counts the EOS of tgt[:, 1:]")
def _(lengths):
    width = max(lengths) + 2
    tgt = torch.zeros(len(lengths), width, dtype=torch.long)
    for row, n in enumerate(lengths):
        tgt[row, 0] = BOS
        tgt[row, 1 : n + 1] = 5
        tgt[row, n + 1] = EOS
    return int((tgt[:, 1:] == EOS).sum())


@wrong("kept_ends", "gives the rows, not their number")
def _(lengths):
    return [row for row, n in enumerate(lengths) if n < max(lengths)]


@wrong("kept_ends", "takes the last sentence for the longest")
def _(lengths):
    return sum(1 for n in lengths if n < lengths[-1])


@wrong("kept_ends", "hard-codes the example")
def _(lengths):
    return 3


# ---------------------------------------------------------------- 2 window_mask
@right("window_mask")
def _(ids, width):
    t = torch.arange(ids.size(1))
    distance = t[:, None] - t[None, :]
    near = (distance >= 0) & (distance < width)
    return near & (ids != PAD)[:, None, None, :]


@right("window_mask")
def _(ids, width):
    batch, time = ids.shape
    mask = torch.zeros(batch, 1, time, time, dtype=torch.bool)
    for b in range(batch):
        for q in range(time):
            for k in range(max(0, q - width + 1), q + 1):
                mask[b, 0, q, k] = bool(ids[b, k] != 0)
    return mask


@right("window_mask")
def _(ids, width):
    time = ids.size(1)
    band = torch.ones(time, time, dtype=torch.bool).tril().triu(1 - width)
    return (ids.ne(0).unsqueeze(1) & band).unsqueeze(1)


@wrong("window_mask", "sees width places before it: one too many")
def _(ids, width):
    time = ids.size(1)
    band = torch.ones(time, time, dtype=torch.bool).tril().triu(-width)
    return band & (ids != PAD)[:, None, None, :]


@wrong("window_mask", "does not see itself")
def _(ids, width):
    t = torch.arange(ids.size(1))
    distance = t[:, None] - t[None, :]
    return ((distance > 0) & (distance < width)) & (ids != PAD)[:, None, None, :]


@wrong("window_mask", "window on both sides")
def _(ids, width):
    t = torch.arange(ids.size(1))
    near = (t[:, None] - t[None, :]).abs() < width
    return near & (ids != PAD)[:, None, None, :]


@wrong("window_mask", "axes of query and key swapped: sees the future")
def _(ids, width):
    t = torch.arange(ids.size(1))
    distance = t[None, :] - t[:, None]
    near = (distance >= 0) & (distance < width)
    return near & (ids != PAD)[:, None, None, :]


@wrong("window_mask", "hides the rows of padding, not the columns")
def _(ids, width):
    t = torch.arange(ids.size(1))
    distance = t[:, None] - t[None, :]
    near = (distance >= 0) & (distance < width)
    return near & (ids != PAD)[:, None, :, None]


@wrong("window_mask", "assumes padding at the end, by counting tokens")
def _(ids, width):
    t = torch.arange(ids.size(1))
    lengths = (ids != PAD).sum(1)
    real = t[None, :] < lengths[:, None]
    distance = t[:, None] - t[None, :]
    near = (distance >= 0) & (distance < width)
    return near & real[:, None, None, :]


@wrong("window_mask", "forgets the padding")
def _(ids, width):
    batch, time = ids.shape
    band = torch.ones(time, time, dtype=torch.bool).tril().triu(1 - width)
    return band.expand(batch, 1, time, time)


@wrong("window_mask", "forgets the axis of the heads")
def _(ids, width):
    t = torch.arange(ids.size(1))
    distance = t[:, None] - t[None, :]
    near = (distance >= 0) & (distance < width)
    return near[None] & (ids != PAD)[:, None, :]


@wrong("window_mask", "True means hidden")
def _(ids, width):
    t = torch.arange(ids.size(1))
    distance = t[:, None] - t[None, :]
    far = (distance < 0) | (distance >= width)
    return far | (ids == PAD)[:, None, None, :]


@wrong("window_mask", "or in place of and")
def _(ids, width):
    t = torch.arange(ids.size(1))
    distance = t[:, None] - t[None, :]
    near = (distance >= 0) & (distance < width)
    return near | (ids != PAD)[:, None, None, :]


@wrong("window_mask", "padding lets itself be seen by its own place, against nan")
def _(ids, width):
    t = torch.arange(ids.size(1))
    distance = t[:, None] - t[None, :]
    near = (distance >= 0) & (distance < width)
    return (near & (ids != PAD)[:, None, None, :]) | torch.eye(len(t), dtype=torch.bool)


# ---------------------------------------------------------------- 3 causal_attention
@right("causal_attention")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[:, None] < time[None, :]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@right("causal_attention")
def _(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


@right("causal_attention")
def _(query, key, value):
    rows = []
    for t in range(query.size(-2)):
        q = query[..., t : t + 1, :]
        weights = F.softmax(q @ key[..., : t + 1, :].mT / query.shape[-1] ** 0.5, dim=-1)
        rows.append(weights @ value[..., : t + 1, :])
    return torch.cat(rows, dim=-2)


@wrong("causal_attention", "hides itself too: nan in the first row")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] >= time[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("causal_attention", "turns the mask with ~ and so hides the diagonal")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[:, None] > time[None, :]
    return scores.masked_fill(~hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("causal_attention", "changes the softmax's axis, leaves the mask")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[:, None] > time[None, :]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-2) @ value


@wrong("causal_attention", "fills with 0 in place of -inf")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, 0.0).softmax(dim=-1) @ value


@wrong("causal_attention", "1e-9 where -1e9 was meant")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, 1e-9).softmax(dim=-1) @ value


@wrong("causal_attention", "masks after the softmax: rows no longer sum to 1")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return weights.tril() @ value


@wrong("causal_attention", "time from axis 1: wrong with heads")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(1))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("causal_attention", "lets the next place through: diagonal 2")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    n = query.size(-2)
    hidden = torch.triu(torch.ones(n, n), diagonal=2).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("causal_attention", "right mask, but drops the scaling as the mistake")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1)
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


# ---------------------------------------------------------------- 4 far_reach
right("far_reach")(12)
wrong("far_reach", "3 layers times 5")(15)
wrong("far_reach", "counts the place itself")(13)
wrong("far_reach", "one layer only")(4)
wrong("far_reach", "one layer, with itself")(5)
wrong("far_reach", "15 - 1: takes itself off once")(14)
wrong("far_reach", "gives the index of the farthest place")(7)
wrong("far_reach", "everything reaches everything through layers")(19)
wrong("far_reach", "two layers only")(8)
wrong("far_reach", "off by one: the last loop value left out")(11)


# ---------------------------------------------------------------- 5 through_the_mask
@right("through_the_mask")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = (alpha * mask).sum()
    alpha_masked = alpha * mask / Z
    c = (alpha_masked * values).sum()
    return alpha, Z, alpha_masked, c, alpha_masked * (values - c)


@right("through_the_mask")
def _(scores, mask, values):
    a = torch.exp(scores) / torch.exp(scores).sum()
    Z = a[mask].sum()
    masked = torch.where(mask, a / Z, 0.0)
    c = masked @ values
    jacobian = torch.diag(masked) - torch.outer(masked, masked)
    return [a, Z, masked, c, jacobian @ values]


@wrong("through_the_mask", "the gradient with the unmasked weights")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = alpha[mask].sum()
    new = alpha * mask / Z
    c = new @ values
    return alpha, Z, new, c, alpha * (values - c)


@wrong("through_the_mask", "the gradient leaves out the coupling by the sum")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = alpha[mask].sum()
    new = alpha * mask / Z
    c = new @ values
    return alpha, Z, new, c, new * (1 - new) * values


@wrong("through_the_mask", "derivative by the weights, not by the scores")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = alpha[mask].sum()
    new = alpha * mask / Z
    c = new @ values
    return alpha, Z, new, c, values * mask


@wrong("through_the_mask", "sign of the gradient")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = alpha[mask].sum()
    new = alpha * mask / Z
    c = new @ values
    return alpha, Z, new, c, new * (c - values)


@wrong("through_the_mask", "does not divide by Z")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = alpha[mask].sum()
    new = alpha * mask
    c = new @ values
    return alpha, Z, new, c, new * (values - c)


@wrong("through_the_mask", "Z counts the keys left")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = mask.sum()
    new = alpha * mask / Z
    c = new @ values
    return alpha, Z, new, c, new * (values - c)


@wrong("through_the_mask", "Z sums the exponentials, not the weights")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = scores[mask].exp().sum()
    new = scores.exp() * mask / Z
    c = new @ values
    return alpha, Z, new, c, new * (values - c)


@wrong("through_the_mask", "keeps only the visible weights: shorter vectors")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = alpha[mask].sum()
    new = alpha[mask] / Z
    c = new @ values[mask]
    return alpha, Z, new, c, new * (values[mask] - c)


@wrong("through_the_mask", "the first step already masked")
def _(scores, mask, values):
    alpha = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    Z = alpha[mask].sum()
    new = alpha / Z
    c = new @ values
    return alpha, Z, new, c, new * (values - c)


@wrong("through_the_mask", "takes True for hidden")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = alpha[~mask].sum()
    new = alpha * ~mask / Z
    c = new @ values
    return alpha, Z, new, c, new * (values - c)


@wrong("through_the_mask", "subtracts the mean of the values, not the output")
def _(scores, mask, values):
    alpha = scores.softmax(-1)
    Z = alpha[mask].sum()
    new = alpha * mask / Z
    c = new @ values
    return alpha, Z, new, c, new * (values - values.mean())


# ---------------------------------------------------------------- 6 sees_the_future
@right("sees_the_future")
def _(logits, ids):
    before = logits(ids)
    for u in range(1, len(ids)):
        for step in (1, 2, 3, 5, 11):
            other = ids.clone()
            other[u] += step
            if not torch.allclose(logits(other)[:u], before[:u]):
                return True
    return False


@right("sees_the_future")
def _(logits, ids):
    full = logits(ids)
    for t in range(len(ids) - 1):  # everything after t is new
        for _ in range(10):
            other = torch.cat([ids[: t + 1], ids[t + 1 :] + torch.randint(1, 50, (len(ids) - t - 1,))])
            if not torch.equal(logits(other)[t], full[t]):
                return True
    return False


@right("sees_the_future")
def _(logits, ids):
    whole = logits(ids)
    return any(
        not torch.allclose(logits(ids[: t + 1])[t], whole[t]) for t in range(ids.size(0))
    )


@wrong("sees_the_future", "changes the last token only")
def _(logits, ids):
    other = ids.clone()
    other[-1] += 1
    return not torch.allclose(logits(ids)[:-1], logits(other)[:-1])


@wrong("sees_the_future", "looks at the first position only")
def _(logits, ids):
    other = ids.clone()
    other[1:] += 1
    return not torch.allclose(logits(ids)[0], logits(other)[0])


@wrong("sees_the_future", "compares the changed position too: nearly always True")
def _(logits, ids):
    before = logits(ids)
    for u in range(1, len(ids)):
        other = ids.clone()
        other[u] += 1
        if not torch.allclose(logits(other)[: u + 1], before[: u + 1]):
            return True
    return False


@wrong("sees_the_future", "misses the direct neighbour: slice one too short")
def _(logits, ids):
    before = logits(ids)
    for u in range(1, len(ids)):
        other = ids.clone()
        other[u] += 1
        if not torch.allclose(logits(other)[: u - 1], before[: u - 1]):
            return True
    return False


@wrong("sees_the_future", "looks at the direct neighbour only")
def _(logits, ids):
    before = logits(ids)
    for t in range(len(ids) - 1):
        other = ids.clone()
        other[t + 1] += 1
        if not torch.allclose(logits(other)[t], before[t]):
            return True
    return False


@wrong("sees_the_future", "no clone: changes pile up from the front")
def _(logits, ids):
    before = logits(ids)
    other = ids.clone()
    for u in range(1, len(ids)):
        other[u] += 1
        if not torch.allclose(logits(other)[:u], before[:u]):
            return True
    return False


@wrong("sees_the_future", "writes PAD, which may stand there already")
def _(logits, ids):
    before = logits(ids)
    for u in range(1, len(ids)):
        other = ids.clone()
        other[u] = 0
        if not torch.allclose(logits(other)[:u], before[:u]):
            return True
    return False


@wrong("sees_the_future", "True and False swapped")
def _(logits, ids):
    before = logits(ids)
    for u in range(1, len(ids)):
        other = ids.clone()
        other[u] += 1
        if not torch.allclose(logits(other)[:u], before[:u]):
            return False
    return True


@wrong("sees_the_future", "compares only the most likely token")
def _(logits, ids):
    before = logits(ids).argmax(-1)
    for u in range(1, len(ids)):
        other = ids.clone()
        other[u] += 1
        if not torch.equal(logits(other).argmax(-1)[:u], before[:u]):
            return True
    return False


@wrong("sees_the_future", "changes the second half at once, looks at the first")
def _(logits, ids):
    half = len(ids) // 2
    other = ids.clone()
    other[half:] += 1
    return not torch.allclose(logits(ids)[:half], logits(other)[:half])


@wrong("sees_the_future", "returns after the first place tried")
def _(logits, ids):
    before = logits(ids)
    for u in range(1, len(ids)):
        other = ids.clone()
        other[u] += 1
        if not torch.allclose(logits(other)[:u], before[:u]):
            return True
        else:
            return False
    return False


# ---------------------------------------------------------------- 7 unseen_leak
# right = a bug that tests A to E let through
@right("unseen_leak")
def _(query, key, value):  # the second place sees the third
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    if len(time) > 3:
        hidden[1, 2] = False
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@right("unseen_leak")
def _(query, key, value):  # the root of 4, always
    scores = query @ key.transpose(-2, -1) / 2
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@right("unseen_leak")
def _(query, key, value):  # scaled by the number of words, not by the width
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-2))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@right("unseen_leak")
def _(query, key, value):  # the third place does not see the first
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    hidden |= (time[:, None] == 2) & (time[None, :] == 0)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@right("unseen_leak")
def _(query, key, value):  # everything is seen from the fifth word on
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = (time[None, :] > time[:, None]) & (time[None, :] < 4)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@right("unseen_leak")
def _(query, key, value):  # length from axis 1: 4 words and width 4 agree
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(1))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("unseen_leak", "no bug: only written otherwise")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.size(-1))
    n = query.size(-2)
    hidden = torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ value


@wrong("unseen_leak", "no mask at all: caught by C and D")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1) @ value


@wrong("unseen_leak", "everybody sees the next place: caught by C")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None] + 1
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("unseen_leak", "the second place sees the last: caught by D")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    if len(time) > 1:
        hidden[1, -1] = False
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("unseen_leak", "no scaling: caught by E")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1)
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("unseen_leak", "weights cut after the softmax: caught by B")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1).tril() @ value


@wrong("unseen_leak", "window of three: the last does not see the first, caught by E")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    distance = time[:, None] - time[None, :]
    hidden = (distance < 0) | (distance > 2)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ value


@wrong("unseen_leak", "softmax over the queries: caught by B")
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-2) @ value


@right("unseen_leak")  # a visible score may be below -1e9
def _(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    time = torch.arange(query.size(-2))
    hidden = time[None, :] > time[:, None]
    return scores.masked_fill(hidden, -1e9).softmax(dim=-1) @ value

"""Answers of readers who saw only the statement."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from answers import right, wrong

PAD = 0


# ---------------------------------------------------------------- 1 smoothed_targets
@right("smoothed_targets")
def _(target, vocab, smoothing):
    return (1 - smoothing) * F.one_hot(target, vocab) + smoothing / vocab


@right("smoothed_targets")
def _(target, vocab, smoothing):
    q = torch.full((len(target), vocab), smoothing / vocab)
    for i, t in enumerate(target.tolist()):
        q[i, t] += 1 - smoothing
    return q


@right("smoothed_targets")
def _(target, vocab, smoothing):
    return torch.lerp(torch.eye(vocab)[target], torch.full((1, vocab), 1 / vocab), smoothing)


@wrong("smoothed_targets", "spreads epsilon over the other V-1 tokens only")
def _(target, vocab, smoothing):
    q = torch.full((len(target), vocab), smoothing / (vocab - 1))
    q[torch.arange(len(target)), target] = 1 - smoothing
    return q


@wrong("smoothed_targets", "overwrites the right token, which loses its uniform share")
def _(target, vocab, smoothing):
    q = torch.full((len(target), vocab), smoothing / vocab)
    q.scatter_(1, target[:, None], 1 - smoothing)
    return q


@wrong("smoothed_targets", "epsilon and 1 - epsilon swapped")
def _(target, vocab, smoothing):
    return smoothing * F.one_hot(target, vocab) + (1 - smoothing) / vocab


@wrong("smoothed_targets", "adds epsilon to every token instead of epsilon / V")
def _(target, vocab, smoothing):
    return (1 - smoothing) * F.one_hot(target, vocab) + smoothing


@wrong("smoothed_targets", "one_hot without the size: as wide as the largest target")
def _(target, vocab, smoothing):
    return (1 - smoothing) * F.one_hot(target) + smoothing / vocab


@wrong("smoothed_targets", "does not scale the one-hot down")
def _(target, vocab, smoothing):
    return F.one_hot(target, vocab) + smoothing / vocab


@wrong("smoothed_targets", "uniform over the number of tokens, not over the vocabulary")
def _(target, vocab, smoothing):
    return (1 - smoothing) * F.one_hot(target, vocab) + smoothing / len(target)


@wrong("smoothed_targets", "columns are tokens: transposed")
def _(target, vocab, smoothing):
    return (1 - smoothing) * F.one_hot(target, vocab).T + smoothing / vocab


@wrong("smoothed_targets", "stays in integers: one-hot buffer of dtype long")
def _(target, vocab, smoothing):
    q = F.one_hot(target, vocab)
    q[:] = (1 - smoothing) * q + smoothing / vocab
    return q


# ---------------------------------------------------------------- 2 paper_rate
@right("paper_rate")
def _(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@right("paper_rate")
def _(step, d_model, warmup):
    if step < warmup:
        return step / (math.sqrt(d_model) * math.sqrt(warmup) * warmup)
    return 1 / math.sqrt(d_model * step)


@wrong("paper_rate", "max in place of min")
def _(step, d_model, warmup):
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


@wrong("paper_rate", "forgets d_model")
def _(step, d_model, warmup):
    return min(step**-0.5, step * warmup**-1.5)


@wrong("paper_rate", "counts from 0: step + 1")
def _(step, d_model, warmup):
    step = step + 1
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@wrong("paper_rate", "warmup to the -1/2, not -3/2")
def _(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-0.5)


@wrong("paper_rate", "integer division: the exponent is -2")
def _(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup ** (-3 // 2))


@wrong("paper_rate", "only the warm-up half, never decays")
def _(step, d_model, warmup):
    return d_model**-0.5 * step * warmup**-1.5


@wrong("paper_rate", "sqrt(d_model) multiplied instead of divided")
def _(step, d_model, warmup):
    return d_model**0.5 * min(step**-0.5, step * warmup**-1.5)


@wrong("paper_rate", "precedence: (step * warmup) ** -1.5")
def _(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, (step * warmup) ** -1.5)


@wrong("paper_rate", "linear decay after warm-up by the inverse step")
def _(step, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    return peak * min(step / warmup, warmup / step)


# ---------------------------------------------------------------- 3 accumulate
@right("accumulate")
def _(sums, tokens, every):
    steps, total, count = [], 0, 0
    for i in range(len(sums)):
        total = total + sums[i]
        count = count + tokens[i]
        if (i + 1) % every == 0 or i == len(sums) - 1:
            steps.append(total / count)
            total, count = 0, 0
    return steps


@right("accumulate")
def _(sums, tokens, every):
    return [s.sum(0) / t.sum() for s, t in zip(sums.split(every), tokens.split(every))]


@right("accumulate")
def _(sums, tokens, every):
    steps = []
    for start in range(0, len(sums), every):
        part = slice(start, start + every)
        steps.append(sum(sums[part]) / sum(tokens[part]))
    return steps


@wrong("accumulate", "still the mean of the parts' means")
def _(sums, tokens, every):
    steps, total, n = [], 0, 0
    for i in range(len(sums)):
        total = total + sums[i] / tokens[i]
        n += 1
        if n == every or i == len(sums) - 1:
            steps.append(total / n)
            total, n = 0, 0
    return steps


@wrong("accumulate", "repairs the boundary and the tokens but drops the left-over parts")
def _(sums, tokens, every):
    steps, total, count = [], 0, 0
    for i in range(len(sums)):
        total = total + sums[i]
        count += tokens[i]
        if (i + 1) % every == 0:
            steps.append(total / count)
            total, count = 0, 0
    return steps


@wrong("accumulate", "boundary still i % every == 0")
def _(sums, tokens, every):
    steps, total, count = [], 0, 0
    for i in range(len(sums)):
        total = total + sums[i]
        count += tokens[i]
        if i % every == 0:
            steps.append(total / count)
            total, count = 0, 0
    if count:
        steps.append(total / count)
    return steps


@wrong("accumulate", "forgets to set the token count back to 0")
def _(sums, tokens, every):
    steps, total, count = [], 0, 0
    for i in range(len(sums)):
        total = total + sums[i]
        count += tokens[i]
        if (i + 1) % every == 0 or i + 1 == len(sums):
            steps.append(total / count)
            total = 0
    return steps


@wrong("accumulate", "appends a last step always, even when nothing is left over")
def _(sums, tokens, every):
    steps, total, count = [], torch.zeros_like(sums[0]), 0
    for i in range(len(sums)):
        total = total + sums[i]
        count += tokens[i]
        if (i + 1) % every == 0:
            steps.append(total / count)
            total, count = torch.zeros_like(sums[0]), 0
    steps.append(total / max(count, 1))
    return steps


@wrong("accumulate", "divides by tokens AND by every")
def _(sums, tokens, every):
    steps, total, count = [], 0, 0
    for i in range(len(sums)):
        total = total + sums[i] / every
        count += tokens[i]
        if (i + 1) % every == 0 or i + 1 == len(sums):
            steps.append(total / count)
            total, count = 0, 0
    return steps


@wrong("accumulate", "divides by the tokens of the last part only")
def _(sums, tokens, every):
    steps, total = [], 0
    for i in range(len(sums)):
        total = total + sums[i]
        if (i + 1) % every == 0 or i + 1 == len(sums):
            steps.append(total / tokens[i])
            total = 0
    return steps


@wrong("accumulate", "adds in place into a view of sums and keeps one buffer")
def _(sums, tokens, every):
    steps, total, count = [], torch.zeros_like(sums[0]), 0
    for i in range(len(sums)):
        total += sums[i]
        count += tokens[i]
        if (i + 1) % every == 0 or i + 1 == len(sums):
            total /= count
            steps.append(total)
            total.zero_()
            count = 0
    return steps


@wrong("accumulate", "per token over all tokens of all steps")
def _(sums, tokens, every):
    return [s.sum(0) / tokens.sum() for s in sums.split(every)]


# ---------------------------------------------------------------- 4 highest_rate
wrong("highest_rate", "tried another model")(0.01)
wrong("highest_rate", "takes the lowest that works")(0.001)
wrong("highest_rate", "one step too careful")(0.003)
right("highest_rate")(0.03)
wrong("highest_rate", "thinks that clipping saves everything")(0.1)
wrong("highest_rate", "the highest of all")(0.3)
wrong("highest_rate", "gives the index in the list")(2)
wrong("highest_rate", "a value between two of them")(0.02)


# ---------------------------------------------------------------- 5 smoothed_gradient
@right("smoothed_gradient")
def _(logits, right, smoothing):
    vocab = len(logits)
    p = logits.softmax(dim=-1)
    hot = F.one_hot(torch.as_tensor(right), vocab)
    q = (1 - smoothing) * hot + smoothing / vocab
    ratio = (1 - smoothing) * vocab / smoothing + 1
    return p - hot, p - 1 / vocab, p - q, math.log(ratio)


@right("smoothed_gradient")
def _(logits, right, smoothing):
    z = logits.detach().clone().requires_grad_()
    with torch.enable_grad():
        (first,) = torch.autograd.grad(-z.log_softmax(-1)[right], z)
        (second,) = torch.autograd.grad(-z.log_softmax(-1).mean(), z)
    third = (1 - smoothing) * first + smoothing * second
    low = smoothing / z.numel()
    gap = math.log(1 - smoothing + low) - math.log(low)
    return [first, second, third, gap]


@wrong("smoothed_gradient", "the gap forgets y's uniform share")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    e = torch.zeros(V)
    e[right] = 1
    return p - e, p - 1 / V, p - (1 - smoothing) * e - smoothing / V, math.log((1 - smoothing) * V / smoothing)


@wrong("smoothed_gradient", "step 2 sums instead of averaging: p - 1")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    e = torch.zeros(V)
    e[right] = 1
    gap = math.log((1 - smoothing + smoothing / V) / (smoothing / V))
    return p - e, p - 1, p - (1 - smoothing) * e - smoothing / V, gap


@wrong("smoothed_gradient", "the signs are turned: q - p")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    e = torch.zeros(V)
    e[right] = 1
    gap = math.log((1 - smoothing + smoothing / V) / (smoothing / V))
    return e - p, 1 / V - p, (1 - smoothing) * e + smoothing / V - p, gap


@wrong("smoothed_gradient", "q over the other V - 1")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    e = F.one_hot(torch.tensor(right), V)
    q = torch.full((V,), smoothing / (V - 1))
    q[right] = 1 - smoothing
    return p - e, p - 1 / V, p - q, math.log((1 - smoothing) * (V - 1) / smoothing)


@wrong("smoothed_gradient", "the gap is a ratio of probabilities, no logarithm")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    e = F.one_hot(torch.tensor(right), V)
    q = (1 - smoothing) * e + smoothing / V
    return p - e, p - 1 / V, p - q, (1 - smoothing + smoothing / V) / (smoothing / V)


@wrong("smoothed_gradient", "the gap is the present one of the logits")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    e = F.one_hot(torch.tensor(right), V)
    q = (1 - smoothing) * e + smoothing / V
    others = (logits.sum() - logits[right]) / (V - 1)
    return p - e, p - 1 / V, p - q, (logits[right] - others).item()


@wrong("smoothed_gradient", "step 1 only at y: gives the number p_y - 1")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    e = F.one_hot(torch.tensor(right), V)
    q = (1 - smoothing) * e + smoothing / V
    gap = math.log((1 - smoothing + smoothing / V) / (smoothing / V))
    return p[right] - 1, p - 1 / V, p - q, gap


@wrong("smoothed_gradient", "adds the two parts with weight 1 and epsilon")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    one = p - F.one_hot(torch.tensor(right), V)
    two = p - 1 / V
    gap = math.log((1 - smoothing + smoothing / V) / (smoothing / V))
    return one, two, one + smoothing * two, gap


@wrong("smoothed_gradient", "base 2 for the gap")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    e = F.one_hot(torch.tensor(right), V)
    q = (1 - smoothing) * e + smoothing / V
    return p - e, p - 1 / V, p - q, math.log2((1 - smoothing + smoothing / V) / (smoothing / V))


@wrong("smoothed_gradient", "subtracts in place, so that all three are the same tensor")
def _(logits, right, smoothing):
    V = logits.numel()
    p = logits.softmax(-1)
    first = p
    first[right] -= 1
    second = p - 1 / V
    third = (1 - smoothing) * first + smoothing * second
    return first, second, third, math.log(1 + (1 - smoothing) * V / smoothing)


# ---------------------------------------------------------------- 6 refuting_beta
right("refuting_beta")(0.0)
right("refuting_beta")(0.3)
wrong("refuting_beta", "takes the norm of a step for its length")(0.5)
wrong("refuting_beta", "the usual value")(0.9)
wrong("refuting_beta", "more momentum makes longer steps")(0.99)
wrong("refuting_beta", "a little less than usual")(0.8)
wrong("refuting_beta", "takes half of the noise for half of the length")(0.75)
wrong("refuting_beta", "forgets the square root the other way round")(0.7)
wrong("refuting_beta", "1 is outside")(1.0)
wrong("refuting_beta", "negative")(-0.5)
wrong("refuting_beta", "gives both betas")((0.5, 0.98))


# ---------------------------------------------------------------- 7 train_by_hand
def loss_of(W, b, x, y, smoothing):
    logp = (x @ W + b).log_softmax(-1)
    nll = -logp.gather(-1, y[..., None])[..., 0]
    each = (1 - smoothing) * nll - smoothing * logp.mean(-1)
    return each[y != PAD].sum()


@right("train_by_hand")
def _(W, b, x, y, rate, clip, smoothing):
    W, b = W.clone().requires_grad_(), b.clone().requires_grad_()
    params = [W, b]
    m = [torch.zeros_like(p) for p in params]
    v = [torch.zeros_like(p) for p in params]
    for step, (xs, ys) in enumerate(zip(x, y), 1):
        loss = loss_of(W, b, xs, ys, smoothing) / (ys != PAD).sum()
        grads = torch.autograd.grad(loss, params)
        norm = torch.cat([g.flatten() for g in grads]).norm()
        scale = min(1.0, (clip / norm).item())
        with torch.no_grad():
            for p, g, mi, vi in zip(params, grads, m, v):
                g = g * scale
                mi.mul_(0.9).add_(0.1 * g)
                vi.mul_(0.98).add_(0.02 * g * g)
                p -= rate * (mi / (1 - 0.9**step)) / ((vi / (1 - 0.98**step)).sqrt() + 1e-9)
    return W.detach(), b.detach()


@right("train_by_hand")
def _(W, b, x, y, rate, clip, smoothing):
    # by hand: the gradient by the logits is p - q
    V = b.numel()
    theta = torch.cat([W, b[None]])
    m = v = torch.zeros_like(theta)
    for t in range(len(x)):
        xs, ys = x[t].flatten(0, 1), y[t].flatten()
        real = ys != PAD
        xs, ys = xs[real], ys[real]
        ones = torch.ones(len(xs), 1, dtype=xs.dtype)
        xs = torch.cat([xs, ones], dim=1)
        q = (1 - smoothing) * F.one_hot(ys, V) + smoothing / V
        g = xs.T @ ((xs @ theta).softmax(-1) - q) / len(xs)
        g = g * torch.clamp(clip / (g.norm() + 1e-6), max=1)
        m = 0.9 * m + 0.1 * g
        v = 0.98 * v + 0.02 * g**2
        mhat, vhat = m / (1 - 0.9 ** (t + 1)), v / (1 - 0.98 ** (t + 1))
        theta = theta - rate * mhat / (vhat.sqrt() + 1e-9)
    return [theta[:-1], theta[-1]]


@right("train_by_hand")
def _(W, b, x, y, rate, clip, smoothing):
    W, b = nn.Parameter(W.clone()), nn.Parameter(b.clone())
    state = {p: (torch.zeros_like(p), torch.zeros_like(p)) for p in (W, b)}
    for step in range(1, len(x) + 1):
        W.grad = b.grad = None
        tokens = (y[step - 1] != PAD).sum()
        for part, target in zip(x[step - 1], y[step - 1]):
            total = F.cross_entropy(part @ W + b, target, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
            (total / tokens).backward()
        nn.utils.clip_grad_norm_([W, b], clip)
        with torch.no_grad():
            for p, (m, v) in state.items():
                m.lerp_(p.grad, 0.1)
                v.lerp_(p.grad**2, 0.02)
                p -= rate * m / (1 - 0.9**step) / (torch.sqrt(v / (1 - 0.98**step)) + 1e-9)
    return W.data, b.data


def variant(*, clip_each=False, no_bias=False, eps_inside=False, mean_of_parts=False, per_part=False,
            with_pad=False, no_clip=False, clip_before=False, no_smooth=False, b2=0.98, reset=False,
            always_scale=False, smooth_other=False, clip_value=False, v_corr=True):
    def train(W, b, x, y, rate, clip, smoothing):
        W, b = W.detach().clone().requires_grad_(), b.detach().clone().requires_grad_()
        P = [W, b]
        m = [torch.zeros_like(p) for p in P]
        v = [torch.zeros_like(p) for p in P]
        if no_smooth:
            smoothing = 0.0
        t = 0
        for xs, ys in zip(x, y):
            if reset:
                m = [torch.zeros_like(p) for p in P]
                v = [torch.zeros_like(p) for p in P]
            batches = [(a[None], c[None]) for a, c in zip(xs, ys)] if per_part else [(xs, ys)]
            for xx, yy in batches:
                t += 1

                def one(a, c):
                    if with_pad:
                        return F.cross_entropy((a @ W + b).flatten(0, -2), c.flatten(), label_smoothing=smoothing)
                    return loss_of(W, b, a, c, smoothing) / (c != PAD).sum()

                if mean_of_parts:
                    loss = sum(one(a, c) for a, c in zip(xx, yy)) / len(xx)
                else:
                    loss = one(xx, yy)
                if clip_before:
                    loss = loss * (yy != PAD).sum()
                G = list(torch.autograd.grad(loss, P))
                if clip_each:
                    G = [g * min(1.0, clip / g.norm().item()) for g in G]
                elif clip_value:
                    G = [g.clamp(-clip, clip) for g in G]
                elif not no_clip:
                    norm = sum((g**2).sum() for g in G).sqrt()
                    scale = clip / norm if always_scale else min(1.0, (clip / norm).item())
                    G = [g * scale for g in G]
                if clip_before:
                    G = [g / (yy != PAD).sum() for g in G]
                with torch.no_grad():
                    for i, (p, g) in enumerate(zip(P, G)):
                        m[i] = 0.9 * m[i] + 0.1 * g
                        v[i] = b2 * v[i] + (1 - b2) * g**2
                        if no_bias:
                            mh, vh = m[i], v[i]
                        else:
                            mh = m[i] / (1 - 0.9**t)
                            vh = v[i] / (1 - b2**t) if v_corr else v[i]
                        if eps_inside:
                            p -= rate * mh / (vh + 1e-9).sqrt()
                        else:
                            p -= rate * mh / (vh.sqrt() + 1e-9)
        return W.detach(), b.detach()

    return train


wrong("train_by_hand", "clips W and b each on its own")(variant(clip_each=True))
wrong("train_by_hand", "no bias correction in Adam")(variant(no_bias=True))
wrong("train_by_hand", "mean of the parts' means instead of per real token of all")(variant(mean_of_parts=True))
wrong("train_by_hand", "one step for every part")(variant(per_part=True))
wrong("train_by_hand", "PAD counted and learned")(variant(with_pad=True))
wrong("train_by_hand", "forgets to clip")(variant(no_clip=True))
wrong("train_by_hand", "clips the summed gradient and divides by the tokens after it")(variant(clip_before=True))
wrong("train_by_hand", "clips values, not the norm")(variant(clip_value=True))
wrong("train_by_hand", "beta2 0.999 out of habit")(variant(b2=0.999))
wrong("train_by_hand", "moments begin anew at each step")(variant(reset=True))
wrong("train_by_hand", "scales short gradients up to the clip, too")(variant(always_scale=True))
wrong("train_by_hand", "no smoothing")(variant(no_smooth=True))
wrong("train_by_hand", "bias correction of the first moment only")(variant(v_corr=False))
right("train_by_hand")(variant(eps_inside=True))  # the same up to rounding


@wrong("train_by_hand", "returns W alone")
def _(W, b, x, y, rate, clip, smoothing):
    return variant()(W, b, x, y, rate, clip, smoothing)[0]


@wrong("train_by_hand", "plain gradient descent, no Adam")
def _(W, b, x, y, rate, clip, smoothing):
    W, b = W.clone().requires_grad_(), b.clone().requires_grad_()
    for xs, ys in zip(x, y):
        loss = loss_of(W, b, xs, ys, smoothing) / (ys != PAD).sum()
        gw, gb = torch.autograd.grad(loss, [W, b])
        s = min(1.0, clip / math.sqrt(gw.norm().item() ** 2 + gb.norm().item() ** 2))
        with torch.no_grad():
            W -= rate * s * gw
            b -= rate * s * gb
    return W.detach(), b.detach()

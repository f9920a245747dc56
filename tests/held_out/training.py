"""Answers of readers who saw only the statement."""
import math

import torch
import torch.nn.functional as F

from annotated_transformer.tokens import PAD
from answers import right, wrong


@right("smoothed_targets")
def _(target, vocab, smoothing):
    return F.one_hot(target, vocab) * (1 - smoothing) + smoothing / vocab






@wrong("smoothed_targets", "q[:, target] sets the columns of all tokens")
def _(target, vocab, smoothing):
    q = torch.full((len(target), vocab), smoothing / vocab)
    q[:, target] += 1 - smoothing
    return q


@right("paper_rate")
def _(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)








@right("accumulate")
def _(sums, tokens, every):
    steps = []
    for i in range(0, len(sums), every):
        steps.append(sums[i : i + every].sum(0) / tokens[i : i + every].sum())
    return steps








right("highest_rate")(0.03)
wrong("highest_rate", "the highest of all")(0.3)
wrong("highest_rate", "the first one with a loss below a tenth, from below")(0.003)
wrong("highest_rate", "Adam's usual rate, untried")(0.001)


@right("smoothed_gradient")
def _(logits, right, smoothing):
    V = len(logits)
    p = logits.softmax(0)
    y = F.one_hot(torch.as_tensor(right), V).to(p.dtype)
    one, two = p - y, p - 1 / V
    lead = math.log((1 - smoothing + smoothing / V) / (smoothing / V))
    return one, two, (1 - smoothing) * one + smoothing * two, lead


@wrong("smoothed_gradient", "the signs turned, y - p")
def _(logits, right, smoothing):
    V = len(logits)
    p = logits.softmax(-1)
    y = torch.zeros(V)
    y[right] = 1
    one, two = y - p, 1 / V - p
    return one, two, (1 - smoothing) * one + smoothing * two, math.log(1 + V * (1 - smoothing) / smoothing)






right("refuting_beta")(0.0)
wrong("refuting_beta", "more momentum, thought to make longer steps")(0.99)
wrong("refuting_beta", "a little less than the usual 0.9")(0.8)
wrong("refuting_beta", "1: outside the range")(1.0)


@right("train_by_hand")
def _(W, b, x, y, rate, clip, smoothing):
    W, b = W.detach().clone(), b.detach().clone()
    V = W.size(1)
    params = [W, b]
    m = [torch.zeros_like(p) for p in params]
    v = [torch.zeros_like(p) for p in params]
    for t, (xs, ys) in enumerate(zip(x, y), start=1):
        leaves = [p.clone().requires_grad_() for p in params]
        log_p = (xs @ leaves[0] + leaves[1]).log_softmax(-1)
        right_one = log_p.gather(-1, ys[..., None]).squeeze(-1)
        loss = -(1 - smoothing) * right_one - smoothing * log_p.mean(-1)
        real = ys != PAD
        loss = (loss * real).sum() / real.sum()
        grads = torch.autograd.grad(loss, leaves)
        norm = torch.sqrt(sum((g**2).sum() for g in grads))
        scale = min(1.0, float(clip / norm))
        for i, g in enumerate(grads):
            g = g * scale
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.98 * v[i] + 0.02 * g**2
            m_hat, v_hat = m[i] / (1 - 0.9**t), v[i] / (1 - 0.98**t)
            params[i] = params[i] - rate * m_hat / (v_hat.sqrt() + 1e-9)
    return params[0], params[1]


def training(W, b, x, y, rate, clip, smoothing, together=True, correct=True, by_part=False, pad=True):
    params = [W.detach().clone().requires_grad_(), b.detach().clone().requires_grad_()]
    m = [torch.zeros_like(p) for p in params]
    v = [torch.zeros_like(p) for p in params]
    for t, (xs, ys) in enumerate(zip(x, y), start=1):
        logits = xs @ params[0] + params[1]
        if by_part:
            losses = [
                F.cross_entropy(l, i, ignore_index=PAD, label_smoothing=smoothing)
                for l, i in zip(logits, ys)
            ]
            loss = sum(losses) / len(losses)
        else:
            loss = F.cross_entropy(
                logits.flatten(0, 1),
                ys.flatten(),
                ignore_index=PAD if pad else -100,
                label_smoothing=smoothing,
            )
        grads = list(torch.autograd.grad(loss, params))
        if together:
            norm = torch.cat([g.flatten() for g in grads]).norm()
            grads = [g * min(1.0, (clip / norm).item()) for g in grads]
        else:
            grads = [g * min(1.0, (clip / g.norm()).item()) for g in grads]
        with torch.no_grad():
            for i, g in enumerate(grads):
                m[i] = 0.9 * m[i] + 0.1 * g
                v[i] = 0.98 * v[i] + 0.02 * g * g
                mh, vh = (m[i], v[i])
                if correct:
                    mh, vh = m[i] / (1 - 0.9**t), v[i] / (1 - 0.98**t)
                params[i] -= rate * mh / (vh.sqrt() + 1e-9)
    return params[0].detach(), params[1].detach()







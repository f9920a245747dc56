import math

import torch

from answers import wrong


@wrong("smoothed_targets", "q[:, target] sets the columns of all tokens")
def _(target, vocab, smoothing):
    q = torch.full((len(target), vocab), smoothing / vocab)
    q[:, target] += 1 - smoothing
    return q


wrong("highest_rate", "the highest of all")(0.3)
wrong("highest_rate", "the first one with a loss below a tenth, from below")(0.003)
wrong("highest_rate", "Adam's usual rate, untried")(0.001)


@wrong("smoothed_gradient", "the signs turned, y - p")
def _(logits, right, smoothing):
    V = len(logits)
    p = logits.softmax(-1)
    y = torch.zeros(V)
    y[right] = 1
    one, two = y - p, 1 / V - p
    return one, two, (1 - smoothing) * one + smoothing * two, math.log(1 + V * (1 - smoothing) / smoothing)


wrong("refuting_beta", "more momentum, thought to make longer steps")(0.99)
wrong("refuting_beta", "a little less than the usual 0.9")(0.8)
wrong("refuting_beta", "1: outside the range")(1.0)



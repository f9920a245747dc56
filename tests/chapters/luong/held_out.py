import torch
from torch import nn

from answers import wrong


@wrong("general_scores", "W transposed and applied to the query")
def _(query, key, W):
    return query @ W.T @ key.transpose(-1, -2)


@wrong("general_scores", "transposes axes 1 and 2, so a batch axis is needed")
def _(query, key, W):
    return query @ W @ key.transpose(1, 2)


@wrong("luong_context", "changes the axis of the softmax instead")
def _(states, memory):
    scores = states[:-1] @ memory.T
    return scores.softmax(0) @ memory


@wrong("luong_context", "scales by the root of d, as in the Transformer, and keeps s_{t-1}")
def _(states, memory):
    scores = states[:-1] @ memory.T / memory.size(-1) ** 0.5
    return scores.softmax(-1) @ memory


wrong("narrowest_window", "89.9 % taken as 90 %")(7)
wrong("narrowest_window", "strictly less than D instead of up to D")(9)
wrong("narrowest_window", "the width of the window, 2 D + 1")(17)


@wrong("by_the_query", "W h is written h W, W without transpose")
def _(s, memory, W):
    a = (s @ W @ memory.T).softmax(-1)
    c = a @ memory
    de = memory @ W
    dc = (a[:, None] * (memory - c)).T
    return de, dc, dc @ de


@wrong("attend_at_once", "the context in place of the state")
class _(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mix = nn.Linear(2 * d, d)

    def forward(self, s, h, mask):
        scores = s @ h.mT
        scores = scores.masked_fill(~mask[:, None], -torch.inf)
        weights = scores.softmax(dim=-1)
        context = weights @ h
        both = torch.cat([context, context], dim=-1)
        return torch.tanh(self.mix(both)), weights


@wrong("attend_at_once", "tanh before the matrix")
class _(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mix = nn.Linear(2 * d, d)

    def forward(self, s, h, mask):
        scores = s @ h.mT
        scores = scores.masked_fill(~mask[:, None], -torch.inf)
        weights = scores.softmax(dim=-1)
        context = weights @ h
        both = torch.cat([context, s], dim=-1)
        return self.mix(torch.tanh(both)), weights


@wrong("luong_context", "the weights")
def _(states, memory):
    return (states[1:] @ memory.T).softmax(-1)


@wrong("luong_context", "mixes the states under weights of the words")
def _(states, memory):
    states = states[1:]
    scores = states @ memory.T
    return scores.T.softmax(-1) @ states

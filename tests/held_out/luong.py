"""Answers of readers who saw only the statement."""
import torch
from torch import nn

from answers import right, wrong


@right("general_scores")
def _(query, key, W):
    return query @ W @ key.mT


@wrong("general_scores", "W transposed and applied to the query")
def _(query, key, W):
    return query @ W.T @ key.transpose(-1, -2)


@wrong("general_scores", "transposes axes 1 and 2, so a batch axis is needed")
def _(query, key, W):
    return query @ W @ key.transpose(1, 2)




@right("score_parameters")
def _(score, d_s, d_h, d):
    return {"dot": 0, "general": d_s * d_h, "concat": d * (d_s + d_h) + d}[score]








@right("luong_context")
def _(states, memory):
    scores = states[1:] @ memory.T
    return scores.softmax(-1) @ memory




@wrong("luong_context", "changes the axis of the softmax instead")
def _(states, memory):
    scores = states[:-1] @ memory.T
    return scores.softmax(0) @ memory


@wrong("luong_context", "scales by the root of d, as in the Transformer, and keeps s_{t-1}")
def _(states, memory):
    scores = states[:-1] @ memory.T / memory.size(-1) ** 0.5
    return scores.softmax(-1) @ memory


right("narrowest_window")(8)
wrong("narrowest_window", "89.9 % taken as 90 %")(7)
wrong("narrowest_window", "strictly less than D instead of up to D")(9)
wrong("narrowest_window", "the width of the window, 2 D + 1")(17)


@right("by_the_query")
def _(s, memory, W):
    a = (memory @ W.T @ s).softmax(0)
    c = a @ memory
    de = memory @ W.T
    dc = (a[:, None] * (memory - c)).T
    return de, dc, dc @ de


@wrong("by_the_query", "W h is written h W, W without transpose")
def _(s, memory, W):
    a = (s @ W @ memory.T).softmax(-1)
    c = a @ memory
    de = memory @ W
    dc = (a[:, None] * (memory - c)).T
    return de, dc, dc @ de






@right("local_attention")
def _(states, memory, W_p, v_p, D):
    S = len(memory)
    centre = S * torch.sigmoid(torch.tanh(states @ W_p.T) @ v_p)
    j = torch.arange(1, S + 1)
    far = j - centre[:, None]
    scores = (states @ memory.T).masked_fill(far.abs() > D, -torch.inf)
    weights = scores.softmax(-1) * torch.exp(-(far**2) / (2 * (D / 2) ** 2))
    return centre, weights








@right("input_feeding")
class InputFeeding(nn.Module):
    def __init__(self, word_dim, hidden, width):
        super().__init__()
        self.width = width
        self.cell = nn.GRUCell(word_dim + width, hidden)
        self.W_c = nn.Linear(2 * hidden, width, bias=False)

    def forward(self, words, s, memory, mask):
        attentional = words.new_zeros(len(words), self.width)
        out = []
        for y in words.unbind(1):
            s = self.cell(torch.cat([y, attentional], -1), s)
            scores = s[:, None] @ memory.mT
            weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
            c = (weights @ memory).squeeze(1)
            attentional = torch.tanh(self.W_c(torch.cat([c, s], -1)))
            out.append(attentional)
        return torch.stack(out, 1)







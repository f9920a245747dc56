import torch
from torch import nn

from answers import wrong


wrong("same_weights", "F forgotten: the query must matter")("ACE")
wrong("same_weights", "believes D as a shift of all the scores")("ACDEF")
wrong("same_weights", "forgets that tanh is odd")("AEF")


wrong("best_sharpness", "without the mask")(10.0)
wrong("best_sharpness", "the smallest spreads most, thought to be best")(0.01)
wrong("best_sharpness", "exp(-x²/2) as it is, no sharpening")(1.0)


@wrong("by_one_score", "overwrites the weights in place while differentiating")
def _(e, h, j):
    a = e.softmax(0)
    c = a @ h
    da = a
    da *= -a[j].clone()
    da[j] = -da[j] + a[j]
    return a, c, da, a[j] * (h[j] - c)


@wrong("additive_attention", "unsqueeze(1) and (2): one batch axis only")
class Additive(nn.Module):
    def __init__(self, query_dim, memory_dim, hidden):
        super().__init__()
        self.W_s = nn.Linear(query_dim, hidden, bias=False)
        self.W_h = nn.Linear(memory_dim, hidden, bias=False)
        self.v_a = nn.Linear(hidden, 1, bias=False)

    def forward(self, query, memory, mask):
        q = self.W_s(query).unsqueeze(2)
        k = self.W_h(memory).unsqueeze(1)
        scores = self.v_a(torch.tanh(q + k)).squeeze(-1)
        scores = scores.masked_fill(~mask, float("-inf"))
        return torch.nan_to_num(scores.softmax(-1)) @ memory

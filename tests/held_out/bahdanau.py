"""Answers of readers who saw only the statement."""
import torch
from torch import nn

from answers import right, wrong


@right("attention_weights")
def _(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)








@right("nadaraya_watson")
def _(queries, keys, values, bandwidth):
    distance = (queries[:, None] - keys[None, :]) / bandwidth
    kernel = torch.exp(-(distance**2) / 2)
    return kernel @ values / kernel.sum(dim=1)








right("same_weights")("ACEF")
wrong("same_weights", "F forgotten: the query must matter")("ACE")
wrong("same_weights", "believes D as a shift of all the scores")("ACDEF")
wrong("same_weights", "forgets that tanh is odd")("AEF")


@right("alignment_error")
def _(predicted, gold):
    targets = {t for _, t in gold}
    kept = {(s, t) for s, t in predicted if t in targets}
    return 1 - 2 * len(kept & gold) / (len(kept) + len(gold))








right("best_sharpness")(0.3)
wrong("best_sharpness", "without the mask")(10.0)
wrong("best_sharpness", "the smallest spreads most, thought to be best")(0.01)
wrong("best_sharpness", "exp(-x²/2) as it is, no sharpening")(1.0)


@right("by_one_score")
def _(e, h, j):
    a = e.softmax(0)
    c = a @ h
    da = -a * a[j]
    da[j] = a[j] * (1 - a[j])
    return a, c, da, a[j] * (h[j] - c)






@wrong("by_one_score", "overwrites the weights in place while differentiating")
def _(e, h, j):
    a = e.softmax(0)
    c = a @ h
    da = a
    da *= -a[j].clone()
    da[j] = -da[j] + a[j]
    return a, c, da, a[j] * (h[j] - c)


@right("additive_attention")
class Additive(nn.Module):
    def __init__(self, query_dim, memory_dim, hidden):
        super().__init__()
        self.W_s = nn.Linear(query_dim, hidden, bias=False)
        self.W_h = nn.Linear(memory_dim, hidden, bias=False)
        self.v_a = nn.Linear(hidden, 1, bias=False)

    def forward(self, query, memory, mask):
        q = self.W_s(query).unsqueeze(-2)
        k = self.W_h(memory).unsqueeze(-3)
        scores = self.v_a(torch.tanh(q + k)).squeeze(-1)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        weights = weights.nan_to_num(0.0)
        return weights @ memory




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



"""Answers of readers who saw only the statement."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, wrong

src = torch.tensor([[5, 7, 4, 9, 2], [6, 8, 2, 0, 0], [11, 3, 10, 2, 0]])
tgt_in = torch.tensor([[1, 4, 9, 6, 5], [1, 8, 7, 10, 0], [1, 3, 11, 4, 6]])


@right("ignores_padding")
def _(model):
    model.eval()
    with torch.no_grad():
        return torch.allclose(model(src, tgt_in), model(F.pad(src, (0, 3)), tgt_in), atol=1e-5)








@right("steps_agree")
def _(model):
    model.eval()
    whole = model(src, tgt_in)
    state = model.start(src)
    for t in range(tgt_in.size(1)):
        logits, state = model.step(state, tgt_in[:, t])
        if not torch.allclose(logits, whole[:, t], atol=1e-5):
            return False
    return True




@wrong("steps_agree", "compares the second word only")
def _(model):
    model.eval()
    state = model.start(src)
    _, state = model.step(state, tgt_in[:, 0])
    logits, state = model.step(state, tgt_in[:, 1])
    return torch.allclose(logits, model(src, tgt_in)[:, 1], atol=1e-5)




@right("hides_the_future")
def _(model):
    model.eval()
    with torch.no_grad():
        whole = model(src, tgt_in)
        for t in range(1, tgt_in.size(1)):
            for shift in (1, 2, 5):
                other = tgt_in.clone()
                other[:, t] = (other[:, t] - 3 + shift) % 9 + 3
                if not torch.allclose(model(src, other)[:, :t], whole[:, :t], atol=1e-5):
                    return False
    return True








@right("norms_agree")
def _(model):
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            for size in (1.0, 0.01):
                x = size * torch.randn(4, 8)
                centred = x - x.mean(-1, keepdim=True)
                variance = (centred**2).mean(-1, keepdim=True)
                should = part.weight * centred / torch.sqrt(variance + part.eps) + part.bias
                if not torch.allclose(part(x), should, rtol=1e-4, atol=1e-5):
                    return False
    return True








right("too_wide_to_see")(64)
wrong("too_wide_to_see", "512, the paper's width, as predicted")(512)
wrong("too_wide_to_see", "1/n instead of 1/2n")(128)
wrong("too_wide_to_see", "the last that is found instead of the first that passes")(32)


@right("what_a_pass_shows")
def _(p, n):
    return 1 - p, (1 - p) ** n, math.log(1 / 20) / math.log(1 - p), 1 - (1 / 20) ** (1 / n)








@right("red_team")
def _(query, key, value, mask):
    scores = query @ key.mT / 8**0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("red_team", "the unbroken attention, written otherwise")
def _(query, key, value, mask):
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(query.size(-1))
    weights = torch.where(mask, scores, torch.tensor(-1e30)).softmax(-1)
    return weights @ value


@wrong("red_team", "the root of the number of words, which PyTorch shows")
def _(query, key, value, mask):
    scores = query @ key.mT / key.size(-2) ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


@wrong("red_team", "crashes for more than two sentences")
def _(query, key, value, mask):
    first, second = query
    scores = torch.stack([first, second]) @ key.mT / query.size(-1) ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


right("name_the_trainers")({1: "B", 2: "D", 3: "A", 4: "C"})
wrong("name_the_trainers", "the two about parts mixed up, A and D")({1: "B", 2: "A", 3: "D", 4: "C"})
wrong("name_the_trainers", "the two about the validation loss mixed up, B and C")(
    {1: "C", 2: "D", 3: "A", 4: "B"}
)
wrong("name_the_trainers", "in the order of the table")({1: "A", 2: "B", 3: "C", 4: "D"})

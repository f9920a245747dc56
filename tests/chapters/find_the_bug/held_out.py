import math

import torch

from answers import wrong

src = torch.tensor([[5, 7, 4, 9, 2], [6, 8, 2, 0, 0], [11, 3, 10, 2, 0]])
tgt_in = torch.tensor([[1, 4, 9, 6, 5], [1, 8, 7, 10, 0], [1, 3, 11, 4, 6]])


@wrong("steps_agree", "compares the second word only")
def _(model):
    model.eval()
    state = model.start(src)
    _, state = model.step(state, tgt_in[:, 0])
    logits, state = model.step(state, tgt_in[:, 1])
    return torch.allclose(logits, model(src, tgt_in)[:, 1], atol=1e-5)


wrong("too_wide_to_see", "512, the paper's width, as predicted")(512)
wrong("too_wide_to_see", "1/n instead of 1/2n")(128)
wrong("too_wide_to_see", "the last that is found instead of the first that passes")(32)


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


wrong("name_the_trainers", "the two about parts mixed up, A and D")({1: "B", 2: "A", 3: "D", 4: "C"})
wrong("name_the_trainers", "the two about the validation loss mixed up, B and C")(
    {1: "C", 2: "D", 3: "A", 4: "B"}
)
wrong("name_the_trainers", "in the order of the table")({1: "A", 2: "B", 3: "C", 4: "D"})

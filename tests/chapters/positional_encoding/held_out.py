import math

import torch

from answers import wrong


@wrong("wavelength", "the frequency divided by a turn, the inverse")
def _(column, d_model):
    i = column // 2
    return 10000 ** (-2 * i / d_model) / (2 * math.pi)


@wrong("offset_distance", "integer division in the exponent")
def _(offset, d_model):
    total = 0
    for i in range(d_model // 2):
        total += 2 - 2 * math.cos(offset * 10000 ** -(2 * i // d_model))
    return math.sqrt(total)


wrong("best_base", "the paper's base must be the best")(10000)
wrong("best_base", "the smallest: its clocks run fastest")(10)
wrong("best_base", "the geometric middle of the range")(100)


@wrong("offset_distance", "the sine of the angle")
def _(offset, d_model):
    turns = [offset * 10000 ** (-2 * i / d_model) for i in range(d_model // 2)]
    return math.sqrt(sum(2 - 2 * math.sin(turn) for turn in turns))


@wrong("rotation", "2i doubled, and turned the other way")
def _(k, d_model):
    angles = k * 10000 ** (-2 * torch.arange(0, d_model, 2) / d_model)
    blocks = zip(angles.cos().tolist(), angles.sin().tolist(), strict=True)
    return torch.block_diag(*(torch.tensor([[c, s], [-s, c]]) for c, s in blocks))

"""Answers of readers who saw only the statement."""
import math

import torch

from answers import right, wrong


@right("wavelength")
def _(column, d_model):
    i = column // 2
    return 2 * math.pi * 10000 ** (2 * i / d_model)






@wrong("wavelength", "the frequency divided by a turn, the inverse")
def _(column, d_model):
    i = column // 2
    return 10000 ** (-2 * i / d_model) / (2 * math.pi)


@right("offset_distance")
def _(offset, d_model):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    omega = 10000 ** (-2 * i / d_model)
    return (2 - 2 * torch.cos(offset * omega)).sum().sqrt().item()






@wrong("offset_distance", "integer division in the exponent")
def _(offset, d_model):
    total = 0
    for i in range(d_model // 2):
        total += 2 - 2 * math.cos(offset * 10000 ** -(2 * i // d_model))
    return math.sqrt(total)


@right("embed_from")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start : start + x.size(1)]








right("best_base")(1000)
wrong("best_base", "the paper's base must be the best")(10000)
wrong("best_base", "the smallest: its clocks run fastest")(10)
wrong("best_base", "the geometric middle of the range")(100)


@right("turned_score")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    cm, sm = math.cos(m * omega), math.sin(m * omega)
    Rq = torch.stack([a * cp + b * sp, -a * sp + b * cp])
    Rk = torch.stack([c * cm + d * sm, -c * sm + d * cm])
    A, B = a * c + b * d, a * d - b * c
    angle = (m - p) * omega
    return Rq, Rk, A, B, A * math.cos(angle) + B * math.sin(angle)








@right("alibi_biases")
def _(length, heads):
    p = torch.arange(length)
    distance = (p[:, None] - p).abs()
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    return -slopes[:, None, None] * distance








@right("llama_rotary")
def _(query, key, start):
    def turn(x):
        time, d = x.shape[-2:]
        p = torch.arange(start, start + time, dtype=x.dtype)
        omega = 10000.0 ** (-2 * torch.arange(d // 2, dtype=x.dtype) / d)
        angle = p[:, None] * omega
        a, b = x.chunk(2, dim=-1)
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    return turn(query), turn(key)







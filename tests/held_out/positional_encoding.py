"""Answers of readers who saw only the statement."""
import math

import torch

from answers import right, wrong


@right("wavelength")
def _(column, d_model):
    i = column // 2
    return 2 * math.pi * 10000 ** (2 * i / d_model)


@wrong("wavelength", "every column gets its own frequency")
def _(column, d_model):
    return 2 * math.pi * 10000 ** (column / d_model)


@wrong("wavelength", "the column taken for i")
def _(column, d_model):
    return 2 * math.pi * 10000 ** (2 * column / d_model)


@wrong("wavelength", "the frequency divided by a turn, the inverse")
def _(column, d_model):
    i = column // 2
    return 10000 ** (-2 * i / d_model) / (2 * math.pi)


@right("offset_distance")
def _(offset, d_model):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    omega = 10000 ** (-2 * i / d_model)
    return (2 - 2 * torch.cos(offset * omega)).sum().sqrt().item()


@wrong("offset_distance", "the root not taken")
def _(offset, d_model):
    total = 0
    for i in range(d_model // 2):
        omega = 10000 ** (-2 * i / d_model)
        total += 2 - 2 * math.cos(offset * omega)
    return total


@wrong("offset_distance", "sums over d instead of d/2")
def _(offset, d_model):
    total = 0
    for i in range(d_model):
        omega = 10000 ** (-2 * i / d_model)
        total += 2 - 2 * math.cos(offset * omega)
    return math.sqrt(total)


@wrong("offset_distance", "integer division in the exponent")
def _(offset, d_model):
    total = 0
    for i in range(d_model // 2):
        total += 2 - 2 * math.cos(offset * 10000 ** -(2 * i // d_model))
    return math.sqrt(total)


@right("embed_from")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start : start + x.size(1)]


@wrong("embed_from", "the slice ends at the number of words")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start : x.size(1)]


@wrong("embed_from", "one row, table[start], for all words that come")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start]


@wrong("embed_from", "drops the factor as the supposed mistake")
def _(x, table, start):
    return x + table[start : start + x.size(1)]


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


@wrong("turned_score", "the minus in the first row")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k

    def turn(x, y, t):
        return torch.stack([x * math.cos(t) - y * math.sin(t), x * math.sin(t) + y * math.cos(t)])

    A, B = a * c + b * d, b * c - a * d
    t = (m - p) * omega
    return turn(a, b, p * omega), turn(c, d, m * omega), A, B, A * math.cos(t) + B * math.sin(t)


@wrong("turned_score", "the sign of B")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k

    def turn(x, y, t):
        return torch.stack([x * math.cos(t) + y * math.sin(t), -x * math.sin(t) + y * math.cos(t)])

    A, B = a * c + b * d, b * c - a * d
    t = (m - p) * omega
    return turn(a, b, p * omega), turn(c, d, m * omega), A, B, A * math.cos(t) + B * math.sin(t)


@wrong("turned_score", "the products mixed up: A is ac - bd, B is ad + bc")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k

    def turn(x, y, t):
        return torch.stack([x * math.cos(t) + y * math.sin(t), -x * math.sin(t) + y * math.cos(t)])

    A, B = a * c - b * d, a * d + b * c
    t = (m - p) * omega
    return turn(a, b, p * omega), turn(c, d, m * omega), A, B, A * math.cos(t) + B * math.sin(t)


@right("alibi_biases")
def _(length, heads):
    p = torch.arange(length)
    distance = (p[:, None] - p).abs()
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    return -slopes[:, None, None] * distance


@wrong("alibi_biases", "heads counted from 0")
def _(length, heads):
    p = torch.arange(length)
    distance = (p[:, None] - p[None, :]).abs()
    slopes = 2.0 ** (-8 * torch.arange(heads) / heads)
    return -slopes[:, None, None] * distance


@wrong("alibi_biases", "the distance with a sign, as behind a causal mask")
def _(length, heads):
    p = torch.arange(length)
    distance = p[:, None] - p[None, :]
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    return -slopes.view(-1, 1, 1) * distance


@wrong("alibi_biases", "heads last instead of first")
def _(length, heads):
    p = torch.arange(length)
    distance = (p[:, None] - p[None, :]).abs()
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    return -distance[:, :, None] * slopes


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


@wrong("llama_rotary", "neighbouring columns are the pairs")
def _(query, key, start):
    def turn(x):
        time, d = x.shape[-2:]
        p = torch.arange(start, start + time)
        omega = 10000.0 ** (-2 * torch.arange(d // 2) / d)
        angle = p[:, None] * omega
        a, b = x[..., 0::2], x[..., 1::2]
        cos, sin = angle.cos(), angle.sin()
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

    return turn(query), turn(key)


@wrong("llama_rotary", "start ignored, since scores do not depend on it")
def _(query, key, start):
    def turn(x):
        time, d = x.shape[-2:]
        omega = 10000.0 ** (-2 * torch.arange(d // 2) / d)
        angle = torch.arange(time)[:, None] * omega
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    return turn(query), turn(key)


@wrong("llama_rotary", "the second half made of the half already turned")
def _(query, key, start):
    def turn(x):
        x = x.clone()
        time, d = x.shape[-2:]
        h = d // 2
        omega = 10000.0 ** (-2 * torch.arange(h) / d)
        angle = torch.arange(start, start + time)[:, None] * omega
        cos, sin = angle.cos(), angle.sin()
        x[..., :h] = x[..., :h] * cos - x[..., h:] * sin
        x[..., h:] = x[..., :h] * sin + x[..., h:] * cos
        return x

    return turn(query), turn(key)

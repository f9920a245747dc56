"""Answers of readers who saw only the statement."""
import math

import torch
from torch import nn  # noqa: F401
from torch.nn import functional as F  # noqa: F401

from answers import right, wrong

torch.set_default_dtype(torch.float64)


# ---------------------------------------------------------------- 1 wavelength
@right("wavelength")
def _(column, d_model):
    i = column // 2
    return 2 * math.pi * 10000 ** (2 * i / d_model)


@right("wavelength")
def _(column, d_model):
    if column % 2 == 1:  # a cosine has the frequency of the sine before it
        column -= 1
    omega = 10000 ** (-column / d_model)
    return math.tau / omega


@wrong("wavelength", "takes the column for the pair: 2 * column in the exponent")
def _(column, d_model):
    return 2 * math.pi * 10000 ** (2 * column / d_model)


@wrong("wavelength", "odd column gets an exponent of its own")
def _(column, d_model):
    return 2 * math.pi * 10000 ** (column / d_model)


@wrong("wavelength", "forgets 2 pi")
def _(column, d_model):
    i = column // 2
    return 10000 ** (2 * i / d_model)


@wrong("wavelength", "gives the frequency times 2 pi, not the wavelength")
def _(column, d_model):
    i = column // 2
    return 2 * math.pi / 10000 ** (2 * i / d_model)


@wrong("wavelength", "counts columns from 1")
def _(column, d_model):
    i = (column - 1) // 2
    return 2 * math.pi * 10000 ** (2 * i / d_model)


@wrong("wavelength", "the pair's number without the 2")
def _(column, d_model):
    pair = column // 2
    return 2 * math.pi * 10000 ** (pair / d_model)


@wrong("wavelength", "rounds up to whole positions")
def _(column, d_model):
    i = column // 2
    return math.ceil(2 * math.pi * 10000 ** (2 * i / d_model))


@wrong("wavelength", "halves as in Llama: first half sines, second half cosines")
def _(column, d_model):
    half = d_model // 2
    i = column % half
    return 2 * math.pi * 10000 ** (2 * i / d_model)


# ---------------------------------------------------------------- 2 offset_distance
@right("offset_distance")
def _(offset, d_model):
    total = 0.0
    for i in range(d_model // 2):
        omega = 10000 ** (-2 * i / d_model)
        total += 2 - 2 * math.cos(offset * omega)
    return math.sqrt(total)


@right("offset_distance")
def _(offset, d_model):
    omega = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return (2 - 2 * torch.cos(offset * omega)).sum().sqrt()


@right("offset_distance")
def _(offset, d_model):
    # 2 - 2 cos x = 4 sin^2(x/2)
    return 2 * math.hypot(*(math.sin(offset * 10000 ** (-2 * i / d_model) / 2) for i in range(d_model // 2)))


@wrong("offset_distance", "forgets the root")
def _(offset, d_model):
    return sum(2 - 2 * math.cos(offset * 10000 ** (-2 * i / d_model)) for i in range(d_model // 2))


@wrong("offset_distance", "the root inside the sum")
def _(offset, d_model):
    return sum(math.sqrt(2 - 2 * math.cos(offset * 10000 ** (-2 * i / d_model))) for i in range(d_model // 2))


@wrong("offset_distance", "leaves out the last pair")
def _(offset, d_model):
    total = 0.0
    for i in range(d_model // 2 - 1):
        omega = 10000 ** (-2 * i / d_model)
        total += 2 - 2 * math.cos(offset * omega)
    return math.sqrt(total)


@wrong("offset_distance", "i runs over all columns")
def _(offset, d_model):
    total = 0.0
    for i in range(d_model):
        omega = 10000 ** (-2 * i / d_model)
        total += 2 - 2 * math.cos(offset * omega)
    return math.sqrt(total)


@wrong("offset_distance", "exponent steps twice: arange(0, d, 2) and times 2 again")
def _(offset, d_model):
    i = torch.arange(0, d_model, 2)
    omega = 10000.0 ** (-2 * i / d_model)
    return (2 - 2 * torch.cos(offset * omega)).sum().sqrt().item()


@wrong("offset_distance", "exponent positive")
def _(offset, d_model):
    omega = 10000.0 ** (2 * torch.arange(d_model // 2) / d_model)
    return (2 - 2 * torch.cos(offset * omega)).sum().sqrt().item()


@wrong("offset_distance", "the similarity (dot product) rather than the distance")
def _(offset, d_model):
    omega = 10000.0 ** (-2 * torch.arange(d_model // 2) / d_model)
    return torch.cos(offset * omega).sum().item()


@wrong("offset_distance", "2 stands once before the sum, not in each term")
def _(offset, d_model):
    omega = [10000 ** (-2 * i / d_model) for i in range(d_model // 2)]
    return math.sqrt(abs(2 - sum(2 * math.cos(offset * w) for w in omega)))


@wrong("offset_distance", "integer division in the exponent")
def _(offset, d_model):
    total = 0.0
    for i in range(d_model // 2):
        total += 2 - 2 * math.cos(offset * 10000.0 ** (-2 * i // d_model))
    return math.sqrt(total)


# ---------------------------------------------------------------- 3 embed_from
@right("embed_from")
def _(x, table, start):
    """(batch, time, d), (positions, d) -> (batch, time, d)."""
    return x * x.size(-1) ** 0.5 + table[start : start + x.size(1)]


@right("embed_from")
def _(x, table, start):
    positions = torch.arange(x.size(1)) + start
    return math.sqrt(x.shape[2]) * x + F.embedding(positions, table)[None]


@right("embed_from")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start:].narrow(0, 0, x.size(1))


@wrong("embed_from", "the slice ends at the length, not at start + length")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start : x.size(1)]


@wrong("embed_from", "no end of the slice")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start:]


@wrong("embed_from", "only the row of start, for every position")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start]


@wrong("embed_from", "counts the present word too: starts one late")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start + 1 : start + 1 + x.size(1)]


@wrong("embed_from", "starts one early after the first word")
def _(x, table, start):
    first = max(start - 1, 0)
    return x * x.size(-1) ** 0.5 + table[first : first + x.size(1)]


@wrong("embed_from", "thinks the root is the mistake, and drops it")
def _(x, table, start):
    return x + table[start : start + x.size(1)]


@wrong("embed_from", "thinks the root is the mistake, divides by it")
def _(x, table, start):
    return x / x.size(-1) ** 0.5 + table[start : start + x.size(1)]


@wrong("embed_from", "scales the positions too")
def _(x, table, start):
    return (x + table[start : start + x.size(1)]) * x.size(-1) ** 0.5


@wrong("embed_from", "takes the batch for the time")
def _(x, table, start):
    return x * x.size(-1) ** 0.5 + table[start : start + x.size(0)]


@wrong("embed_from", "takes one row whenever start is not 0 (borderline: right for one word at a time)")
def _(x, table, start):
    if start == 0:
        places = table[: x.size(1)]
    else:
        places = table[start : start + 1]
    return x * x.size(-1) ** 0.5 + places


# ---------------------------------------------------------------- 4 best_base
right("best_base")(1000)
wrong("best_base", "believes smaller base means farther apart")(10)
wrong("best_base", "second smallest; looks only at neighbours in a few positions")(100)
wrong("best_base", "takes the paper's base as best")(10000)
wrong("best_base", "gives the distance, not the base")(0.9734)
wrong("best_base", "gives the index in the list of bases")(2)
wrong("best_base", "gives the offset of the closest two")(993)
wrong("best_base", "the exponent of the base")(3)


# ---------------------------------------------------------------- 5 turned_score
# The chapter's matrix turns (sin, cos) pairs: [[cos, sin], [-sin, cos]]
@right("turned_score")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    R = lambda n: torch.tensor(
        [[math.cos(n * omega), math.sin(n * omega)], [-math.sin(n * omega), math.cos(n * omega)]]
    )
    A = a * c + b * d
    B = a * d - b * c
    angle = (m - p) * omega
    return R(p) @ q, R(m) @ k, A, B, A * math.cos(angle) + B * math.sin(angle)


@right("turned_score")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    cm, sm = math.cos(m * omega), math.sin(m * omega)
    turned_q = torch.stack([a * cp + b * sp, b * cp - a * sp])
    turned_k = torch.stack([c * cm + d * sm, d * cm - c * sm])
    A, B = q @ k, a * d - b * c
    return turned_q, turned_k, A, B, turned_q @ turned_k


@wrong("turned_score", "the school's matrix (counter-clockwise), if the chapter's is that of (sin, cos)")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    cm, sm = math.cos(m * omega), math.sin(m * omega)
    Rq = torch.stack([a * cp - b * sp, a * sp + b * cp])
    Rk = torch.stack([c * cm - d * sm, c * sm + d * cm])
    A, B = a * c + b * d, b * c - a * d
    return Rq, Rk, A, B, A * math.cos((m - p) * omega) + B * math.sin((m - p) * omega)


@wrong("turned_score", "sign of B against its own matrix")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    cm, sm = math.cos(m * omega), math.sin(m * omega)
    Rq = torch.stack([a * cp + b * sp, -a * sp + b * cp])
    Rk = torch.stack([c * cm + d * sm, -c * sm + d * cm])
    A, B = a * c + b * d, b * c - a * d
    return Rq, Rk, A, B, A * math.cos((m - p) * omega) + B * math.sin((m - p) * omega)


@wrong("turned_score", "A with a minus, as for complex numbers without the conjugate")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    cm, sm = math.cos(m * omega), math.sin(m * omega)
    Rq = torch.stack([a * cp + b * sp, -a * sp + b * cp])
    Rk = torch.stack([c * cm + d * sm, -c * sm + d * cm])
    A, B = a * c - b * d, a * d + b * c
    return Rq, Rk, A, B, A * math.cos((m - p) * omega) + B * math.sin((m - p) * omega)


@wrong("turned_score", "turns the key by p as well")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    Rq = torch.stack([a * cp + b * sp, -a * sp + b * cp])
    Rk = torch.stack([c * cp + d * sp, -c * sp + d * cp])
    A, B = a * c + b * d, a * d - b * c
    return Rq, Rk, A, B, A * math.cos((m - p) * omega) + B * math.sin((m - p) * omega)


@wrong("turned_score", "p - m in place of m - p in the score")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    cm, sm = math.cos(m * omega), math.sin(m * omega)
    Rq = torch.stack([a * cp + b * sp, -a * sp + b * cp])
    Rk = torch.stack([c * cm + d * sm, -c * sm + d * cm])
    A, B = a * c + b * d, a * d - b * c
    return Rq, Rk, A, B, A * math.cos((p - m) * omega) + B * math.sin((p - m) * omega)


@wrong("turned_score", "forgets omega in the score")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    cm, sm = math.cos(m * omega), math.sin(m * omega)
    Rq = torch.stack([a * cp + b * sp, -a * sp + b * cp])
    Rk = torch.stack([c * cm + d * sm, -c * sm + d * cm])
    A, B = a * c + b * d, a * d - b * c
    return Rq, Rk, A, B, A * math.cos(m - p) + B * math.sin(m - p)


@wrong("turned_score", "stops before the score: four steps")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    cm, sm = math.cos(m * omega), math.sin(m * omega)
    Rq = torch.stack([a * cp + b * sp, -a * sp + b * cp])
    Rk = torch.stack([c * cm + d * sm, -c * sm + d * cm])
    return Rq, Rk, a * c + b * d, a * d - b * c


@wrong("turned_score", "swaps A and B in the return")
def _(q, k, p, m, omega):
    (a, b), (c, d) = q, k
    cp, sp = math.cos(p * omega), math.sin(p * omega)
    cm, sm = math.cos(m * omega), math.sin(m * omega)
    Rq = torch.stack([a * cp + b * sp, -a * sp + b * cp])
    Rk = torch.stack([c * cm + d * sm, -c * sm + d * cm])
    A, B = a * d - b * c, a * c + b * d
    return Rq, Rk, A, B, Rq @ Rk


# ---------------------------------------------------------------- 6 alibi_biases
@right("alibi_biases")
def _(length, heads):
    place = torch.arange(length)
    distance = (place[:, None] - place[None, :]).abs()
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    return -slopes[:, None, None] * distance


@right("alibi_biases")
def _(length, heads):
    out = torch.zeros(heads, length, length)
    for h in range(1, heads + 1):
        for p in range(length):
            for m in range(length):
                out[h - 1, p, m] = -(2 ** (-8 * h / heads)) * abs(p - m)
    return out


@right("alibi_biases")
def _(length, heads):
    first = 2 ** (-8 / heads)
    place = torch.arange(float(length))
    distance = torch.cdist(place[:, None], place[:, None], p=1)
    return torch.stack([-(first**h) * distance for h in range(1, heads + 1)])


@wrong("alibi_biases", "heads from 0")
def _(length, heads):
    place = torch.arange(length)
    slopes = 2.0 ** (-8 * torch.arange(heads) / heads)
    return -slopes[:, None, None] * (place[:, None] - place).abs()


@wrong("alibi_biases", "no absolute value")
def _(length, heads):
    place = torch.arange(length)
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    return -slopes[:, None, None] * (place[:, None] - place[None, :])


@wrong("alibi_biases", "forgets the minus before the bias")
def _(length, heads):
    place = torch.arange(length)
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    return slopes[:, None, None] * (place[:, None] - place[None, :]).abs()


@wrong("alibi_biases", "power before product: 2**-8 * h / H")
def _(length, heads):
    place = torch.arange(length)
    h = torch.arange(1, heads + 1)
    slopes = 2**-8 * h / heads
    return -slopes[:, None, None] * (place[:, None] - place[None, :]).abs()


@wrong("alibi_biases", "slopes of 8 heads, 2**-h, for any number")
def _(length, heads):
    place = torch.arange(length)
    slopes = 0.5 ** torch.arange(1, heads + 1)
    return -slopes[:, None, None] * (place[:, None] - place[None, :]).abs()


@wrong("alibi_biases", "heads as the last axis")
def _(length, heads):
    place = torch.arange(length)
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    return -slopes * (place[:, None] - place[None, :]).abs()[..., None]


@wrong("alibi_biases", "nothing for keys in the future")
def _(length, heads):
    place = torch.arange(length)
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    return -slopes[:, None, None] * (place[:, None] - place[None, :]).clamp(min=0)


@wrong("alibi_biases", "future keys set to -inf, since ALiBi was made for decoders")
def _(length, heads):
    place = torch.arange(length)
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    bias = -slopes[:, None, None] * (place[:, None] - place[None, :]).abs()
    return bias.masked_fill(place[None, :] > place[:, None], -math.inf)


@wrong("alibi_biases", "integer division 8h // H")
def _(length, heads):
    out = torch.empty(heads, length, length)
    place = torch.arange(length)
    for h in range(heads):
        out[h] = -(2.0 ** -(8 * (h + 1) // heads)) * (place[:, None] - place).abs()
    return out


@wrong("alibi_biases", "leaves out the last head")
def _(length, heads):
    place = torch.arange(length)
    distance = (place[:, None] - place[None, :]).abs()
    return torch.stack([-(2 ** (-8 * h / heads)) * distance for h in range(1, heads)])


# ---------------------------------------------------------------- 7 llama_rotary
@right("llama_rotary")
def _(query, key, start):
    time, d_k = query.shape[-2:]
    half = d_k // 2
    omega = 10000.0 ** (-2 * torch.arange(half) / d_k)
    angle = (start + torch.arange(time))[:, None] * omega
    cos, sin = angle.cos(), angle.sin()

    def turn(x):
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    return turn(query), turn(key)


@right("llama_rotary")
def _(query, key, start):
    d = query.size(-1)
    freqs = 1.0 / 10000 ** (torch.arange(0, d, 2) / d)
    angles = torch.outer(torch.arange(start, start + query.size(-2)), freqs)
    emb = torch.cat([angles, angles], dim=-1)

    def rotate_half(x):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat([-x2, x1], dim=-1)

    return [x * emb.cos() + rotate_half(x) * emb.sin() for x in (query, key)]


@right("llama_rotary")
def _(query, key, start):
    def turn(x):
        out = x.clone()
        n = x.size(-1) // 2
        for t in range(x.size(-2)):
            for i in range(n):
                angle = (start + t) * 10000 ** (-2 * i / x.size(-1))
                a, b = x[..., t, i], x[..., t, i + n]
                out[..., t, i] = a * math.cos(angle) - b * math.sin(angle)
                out[..., t, i + n] = a * math.sin(angle) + b * math.cos(angle)
        return out

    return turn(query), turn(key)


@wrong("llama_rotary", "pairs of neighbours, as in the paper")
def _(query, key, start):
    time, d_k = query.shape[-2:]
    omega = 10000.0 ** (-2 * torch.arange(d_k // 2) / d_k)
    angle = (start + torch.arange(time))[:, None] * omega
    cos, sin = angle.cos(), angle.sin()

    def turn(x):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)

    return turn(query), turn(key)


@wrong("llama_rotary", "turns the other way (sign of the sine)")
def _(query, key, start):
    time, d_k = query.shape[-2:]
    omega = 10000.0 ** (-2 * torch.arange(d_k // 2) / d_k)
    angle = (start + torch.arange(time))[:, None] * omega
    cos, sin = angle.cos(), angle.sin()

    def turn(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos + b * sin, b * cos - a * sin], dim=-1)

    return turn(query), turn(key)


@wrong("llama_rotary", "forgets start, since the scores do not depend on it")
def _(query, key, start):
    time, d_k = query.shape[-2:]
    omega = 10000.0 ** (-2 * torch.arange(d_k // 2) / d_k)
    angle = torch.arange(time)[:, None] * omega
    cos, sin = angle.cos(), angle.sin()

    def turn(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    return turn(query), turn(key)


@wrong("llama_rotary", "start only for the query")
def _(query, key, start):
    def turn(x, first):
        time, d_k = x.shape[-2:]
        omega = 10000.0 ** (-2 * torch.arange(d_k // 2) / d_k)
        angle = (first + torch.arange(time))[:, None] * omega
        a, b = x.chunk(2, -1)
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1)

    return turn(query, start), turn(key, 0)


@wrong("llama_rotary", "exponent i/d in place of 2i/d")
def _(query, key, start):
    time, d_k = query.shape[-2:]
    omega = 10000.0 ** (-torch.arange(d_k // 2) / d_k)
    angle = (start + torch.arange(time))[:, None] * omega
    cos, sin = angle.cos(), angle.sin()

    def turn(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    return turn(query), turn(key)


@wrong("llama_rotary", "angles repeated neighbour-wise with rotate_half")
def _(query, key, start):
    d = query.size(-1)
    freqs = 1.0 / 10000 ** (torch.arange(0, d, 2) / d)
    angles = torch.outer(torch.arange(start, start + query.size(-2)), freqs)
    emb = angles.repeat_interleave(2, dim=-1)

    def rotate_half(x):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat([-x2, x1], dim=-1)

    return tuple(x * emb.cos() + rotate_half(x) * emb.sin() for x in (query, key))


@wrong("llama_rotary", "the second column is made from the already turned first")
def _(query, key, start):
    time, d_k = query.shape[-2:]
    half = d_k // 2
    omega = 10000.0 ** (-2 * torch.arange(half) / d_k)
    angle = (start + torch.arange(time))[:, None] * omega
    cos, sin = angle.cos(), angle.sin()
    query, key = query.clone(), key.clone()
    for x in (query, key):
        x[..., :half] = x[..., :half] * cos - x[..., half:] * sin
        x[..., half:] = x[..., :half] * sin + x[..., half:] * cos
    return query, key


@wrong("llama_rotary", "takes axis 1 for the time: fails or errs with heads")
def _(query, key, start):
    time, d_k = query.size(1), query.size(-1)
    omega = 10000.0 ** (-2 * torch.arange(d_k // 2) / d_k)
    angle = (start + torch.arange(time))[:, None] * omega
    cos, sin = angle.cos(), angle.sin()

    def turn(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    return turn(query), turn(key)


@wrong("llama_rotary", "turns the query alone")
def _(query, key, start):
    time, d_k = query.shape[-2:]
    omega = 10000.0 ** (-2 * torch.arange(d_k // 2) / d_k)
    angle = (start + torch.arange(time))[:, None] * omega
    cos, sin = angle.cos(), angle.sin()
    a, b = query.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1), key


@wrong("llama_rotary", "gives the scores, not both turned")
def _(query, key, start):
    time, d_k = query.shape[-2:]
    omega = 10000.0 ** (-2 * torch.arange(d_k // 2) / d_k)
    angle = (start + torch.arange(time))[:, None] * omega
    cos, sin = angle.cos(), angle.sin()

    def turn(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    return turn(query) @ turn(key).transpose(-2, -1) / math.sqrt(d_k)

import math


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

import math


from answers import wrong


wrong("greedy_misses", "the share for 3 words")(0.11)
wrong("greedy_misses", "the share that it finds")(0.63)
wrong("greedy_misses", "what a beam of 2 still misses")(0.18)


@wrong("turning_point", "the ratio upside down")
def _(short, long):
    a = math.log(math.prod(short))
    b = math.log(math.prod(long))
    ratio = a / b
    return a, b, ratio, math.log(ratio) / math.log((5 + len(long)) / (5 + len(short)))

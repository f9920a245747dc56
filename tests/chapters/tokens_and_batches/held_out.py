import math


from answers import wrong


@wrong("perplexity_of_lead", "the exponential of 0 taken as 0")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + (n - 1) * 0)
    return p, -math.log(p), 1 / p, math.log(k)


@wrong("perplexity_of_lead", "a wrong way round: log of (k - 1) / (n - 1)")
def _(n, a, k):
    p = math.exp(a) / (math.exp(a) + n - 1)
    return p, -math.log(p), 1 + (n - 1) / math.exp(a), math.log((k - 1) / (n - 1))


wrong("smallest_pool", "the last that leaves more than 5 %")(128)
wrong("smallest_pool", "stopped at one pool of a batch")(16)
wrong("smallest_pool", "the share as a fraction, not the pool")(0.05)

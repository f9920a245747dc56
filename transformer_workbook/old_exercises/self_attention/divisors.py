"""Self-attention: what the scores are divided by in place of √d_k."""

from collections.abc import Callable

from torch import Tensor

Divisor = Callable[[Tensor, Tensor, Tensor], float]

DIVISORS: dict[str, Divisor] = {
    "the factor is missing: divide the scores by √d_k": lambda q, k, v: 1,
    "the divisor is d_k; its square root is asked for": lambda q, k, v: k.size(-1),
    "the divisor is d_k²; the square root of d_k is asked for": lambda q, k, v: k.size(-1) ** 2,
    "the scores are multiplied by √d_k; divide by it": lambda q, k, v: k.size(-1) ** -0.5,
    "the scores are multiplied by d_k; divide by its root": lambda q, k, v: 1 / k.size(-1),
    "** comes before /: put −1/2 into brackets": lambda q, k, v: 2 * k.size(-1),
    "the divisor is √d_v; the sum in a score has d_k terms": lambda q, k, v: v.size(-1) ** 0.5,
    "the divisor is d_v; √d_k is asked for": lambda q, k, v: v.size(-1),
    "the divisor is √(d_k d_v); the sum in a score has d_k terms": (
        lambda q, k, v: (k.size(-1) * v.size(-1)) ** 0.5
    ),
    "the divisor is the root of the number of keys; d_k is the width of one": (
        lambda q, k, v: k.size(-2) ** 0.5
    ),
    "the divisor is the number of keys; √d_k is asked for": lambda q, k, v: k.size(-2),
}
"""The divisor, of queries, keys and values, by what is wrong with it."""

"""Tokens and batches: from the lead of the right logit to the perplexity, and back."""

import math
from collections.abc import Callable

from transformer_workbook.judge.exercises import Derivation


def _perplexity_of_lead(n: float, a: float, k: float) -> tuple[float, float, float, float]:
    """From the lead of the right logit to the perplexity, and back."""
    p = math.exp(a) / (math.exp(a) + n - 1)
    return p, -math.log(p), 1 + (n - 1) * math.exp(-a), math.log((n - 1) / (k - 1))


def _steps(
    p: Callable[[float, float], float] = lambda n, a: 1 / (1 + (n - 1) * math.exp(-a)),
    perplexity: Callable[[float, float, float], float] = lambda n, a, p: 1 / p,
    lead: Callable[[float, float], float] = lambda n, k: math.log((n - 1) / (k - 1)),
) -> Callable[..., tuple[float, ...]]:
    """The steps with another p, on which the next ones build, or with another last step."""

    def answer(n: float, a: float, k: float) -> tuple[float, ...]:
        first = p(n, a)
        return (first, -math.log(first), perplexity(n, a, first), lead(n, k))

    return answer


perplexity_of_lead = Derivation(
    reference=_perplexity_of_lead,
    given={
        "step 1 counts one token too many: beside the right one there are n − 1.": (
            _steps(lambda n, a: 1 / (1 + n * math.exp(-a)))
        ),
        "step 1 has one other token; there are n − 1, and each adds e⁰ = 1.": (
            _steps(lambda n, a: 1 / (1 + math.exp(-a)))
        ),
        "step 1 lacks the right token below: e^a is part of the sum.": (
            _steps(lambda n, a: math.exp(a) / (n - 1))
        ),
        "step 1 lacks the right token below, where n tokens count 1 each.": (
            _steps(lambda n, a: math.exp(a) / n)
        ),
        "step 3 has the wrong sign in the exponent: a larger lead makes less perplexity.": (
            _steps(perplexity=lambda n, a, p: 1 + (n - 1) * math.exp(a))
        ),
        "step 3 counts one token too many: beside the right one there are n − 1.": (
            _steps(perplexity=lambda n, a, p: 1 + n * math.exp(-a))
        ),
        "step 3 is 2 to the power of the surprisal, which is a natural logarithm.": (
            _steps(perplexity=lambda n, a, p: 2 ** -math.log(p))
        ),
        "step 4 divides by k; take the 1 of step 3 to the other side first.": (
            _steps(lead=lambda n, k: math.log((n - 1) / k))
        ),
        "step 4 divides by k + 1; the 1 of step 3 goes to the other side, and k − 1 is left.": (
            _steps(lead=lambda n, k: math.log((n - 1) / (k + 1)))
        ),
        "step 4 counts one token too many: beside the right one there are n − 1.": (
            _steps(lead=lambda n, k: math.log(n / (k - 1)))
        ),
        "step 4 is log(n/k); the right token counts 1, so both are less by 1.": (
            _steps(lead=lambda n, k: math.log(n / k))
        ),
    },
    cases=[(77.0, 0.0, 2.0), (148.0, 3.0, 8.5), (10.0, -1.0, 9.0)],
)

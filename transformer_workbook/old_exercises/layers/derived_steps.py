"""Layers: the steps through a normalisation by formulas, wrong in one place."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor


def centred(x: Tensor) -> Tensor:
    """The distances from the mean."""
    return x - x.mean(-1, keepdim=True)


def deviation(x: Tensor) -> Tensor:
    """The root of the mean squared distance from the mean."""
    return x.std(correction=0)


def normalise(x: Tensor) -> Tensor:
    """Layer normalisation without ε, gain and bias."""
    return centred(x) / deviation(x)


class Slip(NamedTuple):
    """What may be wrong in the steps by formulas."""

    mean: int = 1  # 0: the mean is taken as constant
    deviation: int = 1  # 0: the deviation is
    correction: int = 0
    first: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda x, n, sigma: n
    last: Callable[[Tensor, Tensor], Tensor] = torch.outer  # of n and x − μ: the second box
    whole: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda eye, rest, sigma: (
        (eye - rest) / sigma
    )
    passed: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda g, n, matrix: g @ matrix


def derived(slip: Slip) -> Callable[..., Any]:
    """The steps by formulas, with such a slip."""

    def steps(x: Tensor, g: Tensor) -> tuple[Tensor, ...]:
        d, sigma = len(x), x.std(correction=slip.correction)
        n, eye = centred(x) / sigma, torch.eye(len(x)).to(x)
        rest = slip.mean / d + slip.deviation * slip.last(n, n) / d
        matrix = slip.whole(eye, rest, sigma)
        return slip.first(x, n, sigma) / d, matrix, slip.passed(g, n, matrix)

    return steps


def second_box(box: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """The steps with another second box, of n, σ and μ."""

    def steps(x: Tensor, g: Tensor) -> tuple[Tensor, ...]:
        n, sigma, d = normalise(x), deviation(x), len(x)
        matrix = (torch.eye(d).to(x) - 1 / d - box(n, sigma, x.mean()) / d) / sigma
        return n / d, matrix, g @ matrix

    return steps


def over_deviation(n: Tensor, matrix: Tensor) -> Tensor:
    """1/σ, from the first entry of step 2."""
    return matrix[0, 0] / (1 - (1 + n[0] ** 2) / len(n))


FIRST: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "the first box has the distances from the mean, not divided by σ.": lambda x, n, sigma: (
        n * sigma
    ),
    "the first box has x as it is; subtract the mean, divide by σ.": lambda x, n, sigma: x,
    "the first box has x / σ; subtract the mean first.": lambda x, n, sigma: x / sigma,
    "the first box is divided by σ twice.": lambda x, n, sigma: n / sigma,
    "the first box is n_j, not its square.": lambda x, n, sigma: n**2,
    "this is the derivative of σ², the variance.": lambda x, n, sigma: 2 * n * sigma,
    "1/d is missing.": lambda x, n, sigma: len(n) * n,
    "it is divided by d − 1; this deviation divides by d.": lambda x, n, sigma: (
        n * len(n) / (len(n) - 1)
    ),
    "a 1 stands in the box; that is the mean's derivative.": (
        lambda x, n, sigma: torch.ones_like(n)
    ),
    "the box has n_j − 1/d; the distances from the mean add up to 0.": lambda x, n, sigma: (
        n - 1 / len(n)
    ),
    "the box has n_j (1 − 1/d); the mean's part adds up to 0.": lambda x, n, sigma: (
        n * (1 - 1 / len(n))
    ),
    "the box has 2 n_j σ, and the root is not derived.": lambda x, n, sigma: 2 * n * sigma**2,
    "the box has |n_j|; its sign counts.": lambda x, n, sigma: n.abs(),
}
"""What may stand in the first box, of x, n and σ, and what is wrong with it."""


THIRD: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "it is 0, whatever g is; the third box has g_i, not 1 or n_i.": (
        lambda g, n, matrix: n @ matrix
    ),
    "g_i n_i stands in the third box; it has g_i alone.": lambda g, n, matrix: g * n @ matrix,
    "the rows are multiplied by g_i, but not added up.": lambda g, n, matrix: g[:, None] * matrix,
    "only the diagonal is used; each g_i passes through its whole row.": lambda g, n, matrix: (
        g * matrix.diag()
    ),
    "the mean over i; the sum is asked for.": lambda g, n, matrix: g @ matrix / len(g),
    "step 2 is multiplied by g, and not summed over i.": lambda g, n, matrix: g * matrix,
    "the mean of g is not subtracted; step 2 has 1/d.": lambda g, n, J: (
        g @ J + g.mean() * over_deviation(n, J)
    ),
    "only the mean of g is subtracted; step 2 has n_i n_j, too.": lambda g, n, J: (
        (g - g.mean()) * over_deviation(n, J)
    ),
    "n_j Σ g_i n_i is not divided by d.": lambda g, n, J: (
        (g - g.mean() - n * (g @ n)) * over_deviation(n, J)
    ),
    "1/σ is missing.": lambda g, n, J: g @ J / over_deviation(n, J),
    "it is g / σ; the rest of step 2 is missing.": lambda g, n, J: g * over_deviation(n, J),
    "it is a sum of all; each x_j has a gradient of its own.": lambda g, n, J: (
        g[:, None] * J
    ).sum(),
    "the gradient g is added to it.": lambda g, n, J: g + g @ J,
}
"""What may become of step 2, of g, n and its matrix, and what is wrong with it."""

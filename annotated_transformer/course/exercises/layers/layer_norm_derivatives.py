"""Layers: the derivative of a normalisation."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.functional import jacobian

from annotated_transformer.course.derivations import Derivation
from annotated_transformer.course.exercises.cases import normal


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


def _deviation(x: Tensor) -> Tensor:
    return x.std(correction=0)


def _normalise(x: Tensor) -> Tensor:
    return _centred(x) / _deviation(x)


def _layer_norm_derivative(
    x: Float[Tensor, " d"], g: Float[Tensor, " d"]
) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"], Float[Tensor, " d"]]:
    """Derive how a layer normalisation without ε changes with its input, in three steps."""
    derivative = jacobian(_normalise, x)  # type: ignore[no-untyped-call]
    return jacobian(_deviation, x), derivative, g @ derivative  # type: ignore[no-untyped-call]


class _Slip(NamedTuple):
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


def _derived(slip: _Slip) -> Callable[..., Any]:
    """The steps by formulas, with such a slip."""

    def steps(x: Tensor, g: Tensor) -> tuple[Tensor, ...]:
        d, sigma = len(x), x.std(correction=slip.correction)
        n, eye = _centred(x) / sigma, torch.eye(len(x)).to(x)
        rest = slip.mean / d + slip.deviation * slip.last(n, n) / d
        matrix = slip.whole(eye, rest, sigma)
        return slip.first(x, n, sigma) / d, matrix, slip.passed(g, n, matrix)

    return steps


def _ask(answer: Callable[..., Any], x: Tensor, g: Tensor) -> Any:
    """In the precision that PyTorch makes new tensors in, such as ``torch.eye(d)``."""
    return answer(*(y.to(torch.get_default_dtype()) for y in (x, g)))


layer_norm_derivative = Derivation(
    ask=_ask,
    reference=_layer_norm_derivative,
    mistakes={
        "step 1 is wrong: the deviation is unbiased; this one divides by d, not d − 1.": (
            _derived(_Slip(correction=1))
        ),
        "step 2 is wrong: the mean is taken as constant; it moves with every number, by 1/d.": (
            _derived(_Slip(mean=0))
        ),
        "step 2 is wrong: σ is taken as constant; use step 1.": _derived(_Slip(deviation=0)),
        "step 2 is wrong: μ and σ are taken as constants; both move with every number.": (
            _derived(_Slip(mean=0, deviation=0))
        ),
        "step 1 is wrong: the first box has the distances from the mean, not divided by σ.": (
            _derived(_Slip(first=lambda x, n, sigma: n * sigma))
        ),
        "step 1 is wrong: the first box has x as it is; subtract the mean, divide by σ.": (
            _derived(_Slip(first=lambda x, n, sigma: x))
        ),
        "step 1 is wrong: the first box has x / σ; subtract the mean first.": (
            _derived(_Slip(first=lambda x, n, sigma: x / sigma))
        ),
        "step 1 is wrong: the first box is divided by σ twice.": (
            _derived(_Slip(first=lambda x, n, sigma: n / sigma))
        ),
        "step 1 is wrong: the first box is n_j, not its square.": (
            _derived(_Slip(first=lambda x, n, sigma: n**2))
        ),
        "step 1 is wrong: this is the derivative of σ², the variance.": (
            _derived(_Slip(first=lambda x, n, sigma: 2 * n * sigma))
        ),
        "step 2 is wrong: n_j² stands where n_i n_j belongs.": (
            _derived(_Slip(last=lambda n, m: n**2))
        ),
        "step 2 is wrong: n_i² stands where n_i n_j belongs.": (
            _derived(_Slip(last=lambda n, m: n[:, None] ** 2))
        ),
        "step 2 is wrong: n_j stands where n_i n_j belongs.": _derived(_Slip(last=lambda n, m: n)),
        "step 2 is wrong: n_i stands where n_i n_j belongs.": (
            _derived(_Slip(last=lambda n, m: n[:, None].expand(len(n), -1)))
        ),
        "step 2 is wrong: the sum of all n² stands where n_i n_j belongs.": (
            _derived(_Slip(last=lambda n, m: n @ m))
        ),
        "step 2 is wrong: n_i² on the diagonal alone; n_i n_j stands in every place.": (
            _derived(_Slip(last=lambda n, m: (n * m).diag()))
        ),
        "step 2 is wrong: 1/d is missing beside n_i n_j.": (
            _derived(_Slip(last=lambda n, m: len(n) * torch.outer(n, m)))
        ),
        "step 2 is wrong: 1/d² stands beside n_i n_j; once is enough.": (
            _derived(_Slip(last=lambda n, m: torch.outer(n, m) / len(n)))
        ),
        "step 2 is wrong: n_i n_j is added; it is subtracted.": _derived(_Slip(deviation=-1)),
        "step 2 is wrong: 1/d is added; it is subtracted.": _derived(_Slip(mean=-1)),
        "step 2 is wrong: 1/d and n_i n_j are added; both are subtracted.": (
            _derived(_Slip(mean=-1, deviation=-1))
        ),
        "step 2 is wrong: 1/σ stands at [i = j] alone; it multiplies all three.": (
            _derived(_Slip(whole=lambda eye, rest, sigma: eye / sigma - rest))
        ),
        "step 2 is wrong: 1/σ is missing.": _derived(_Slip(whole=lambda eye, rest, _: eye - rest)),
        "step 2 is wrong: it is multiplied by σ; divide by it.": (
            _derived(_Slip(whole=lambda eye, rest, sigma: (eye - rest) * sigma))
        ),
        "step 2 is wrong: it is divided by σ², the variance.": (
            _derived(_Slip(whole=lambda eye, rest, sigma: (eye - rest) / sigma**2))
        ),
        "step 2 is wrong: 1 stands in every place; [i = j] is 0 beside the diagonal.": (
            _derived(_Slip(whole=lambda eye, rest, sigma: (1 - rest) / sigma))
        ),
        "step 3 is wrong: it is 0, whatever g is; the third box has g_i, not 1 or n_i.": (
            _derived(_Slip(passed=lambda g, n, matrix: n @ matrix))
        ),
        "step 3 is wrong: g_i n_i stands in the third box; it has g_i alone.": (
            _derived(_Slip(passed=lambda g, n, matrix: g * n @ matrix))
        ),
        "step 3 is wrong: the rows are multiplied by g_i, but not added up.": (
            _derived(_Slip(passed=lambda g, n, matrix: g[:, None] * matrix))
        ),
        "step 3 is wrong: only the diagonal is used; each g_i passes through its whole row.": (
            _derived(_Slip(passed=lambda g, n, matrix: g * matrix.diag()))
        ),
        "step 3 is wrong: the mean over i; the sum is asked for.": (
            _derived(_Slip(passed=lambda g, n, matrix: g @ matrix / len(g)))
        ),
        "step 3 is wrong: step 2 is multiplied by g, and not summed over i.": (
            _derived(_Slip(passed=lambda g, n, matrix: g * matrix))
        ),
        "this is step 2 alone; all three steps are asked for.": (
            lambda x, g: _layer_norm_derivative(x, g)[1]
        ),
    },
    cases=[
        (normal(4, seed=0), normal(4, seed=1)),
        (normal(3, seed=2, dtype=torch.float32), normal(3, seed=3, dtype=torch.float32)),
        (5 * normal(6, seed=4), normal(6, seed=5)),
    ],
)

"""Layers: the derivative of a normalisation."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.functional import jacobian

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Derivation
from transformer_workbook.old_exercises.layers.derived_steps import (
    FIRST,
    THIRD,
    Slip,
    derived,
    deviation,
    normalise,
    second_box,
)


def _layer_norm_derivative(
    x: Float[Tensor, " d"], g: Float[Tensor, " d"]
) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"], Float[Tensor, " d"]]:
    """Derive how a layer normalisation without ε changes with its input, in three steps."""
    derivative = jacobian(normalise, x)  # type: ignore[no-untyped-call]
    return jacobian(deviation, x), derivative, g @ derivative  # type: ignore[no-untyped-call]


def _ask(answer: Callable[..., Any], x: Tensor, g: Tensor) -> Any:
    """In the precision that PyTorch makes new tensors in, such as ``torch.eye(d)``."""
    return answer(*(y.to(torch.get_default_dtype()) for y in (x, g)))


layer_norm_derivative = Derivation(
    ask=_ask,
    reference=_layer_norm_derivative,
    given={
        **{f"step 1 is wrong: {said}": derived(Slip(first=box)) for said, box in FIRST.items()},
        **{f"step 3 is wrong: {said}": derived(Slip(passed=by)) for said, by in THIRD.items()},
        "step 1 is wrong: the deviation is the unbiased one; divide by d, not by d − 1.": (
            derived(Slip(correction=1))
        ),
        "step 2 is wrong: the mean is taken as constant; it moves with every number, by 1/d.": (
            derived(Slip(mean=0))
        ),
        "step 2 is wrong: σ is taken as constant; use step 1.": derived(Slip(deviation=0)),
        "step 2 is wrong: μ and σ are taken as constants; both move with every number.": (
            derived(Slip(mean=0, deviation=0))
        ),
        "step 2 is wrong: n_j² stands where n_i n_j belongs.": (
            derived(Slip(last=lambda n, m: n**2))
        ),
        "step 2 is wrong: n_i² stands where n_i n_j belongs.": (
            derived(Slip(last=lambda n, m: n[:, None] ** 2))
        ),
        "step 2 is wrong: n_j stands where n_i n_j belongs.": derived(Slip(last=lambda n, m: n)),
        "step 2 is wrong: n_i stands where n_i n_j belongs.": (
            derived(Slip(last=lambda n, m: n[:, None].expand(len(n), -1)))
        ),
        "step 2 is wrong: the sum of all n² stands where n_i n_j belongs.": (
            derived(Slip(last=lambda n, m: n @ m))
        ),
        "step 2 is wrong: n_i² on the diagonal alone; n_i n_j stands in every place.": (
            derived(Slip(last=lambda n, m: (n * m).diag()))
        ),
        "step 2 is wrong: 1/d is missing beside n_i n_j.": (
            derived(Slip(last=lambda n, m: len(n) * torch.outer(n, m)))
        ),
        "step 2 is wrong: 1/d² stands beside n_i n_j; once is enough.": (
            derived(Slip(last=lambda n, m: torch.outer(n, m) / len(n)))
        ),
        "step 2 is wrong: n_i n_j is added; it is subtracted.": derived(Slip(deviation=-1)),
        "step 2 is wrong: 1/d is added; it is subtracted.": derived(Slip(mean=-1)),
        "step 2 is wrong: 1/d and n_i n_j are added; both are subtracted.": (
            derived(Slip(mean=-1, deviation=-1))
        ),
        "step 2 is wrong: 1/σ stands at [i = j] alone; it multiplies all three.": (
            derived(Slip(whole=lambda eye, rest, sigma: eye / sigma - rest))
        ),
        "step 2 is wrong: 1/σ is missing.": derived(Slip(whole=lambda eye, rest, _: eye - rest)),
        "step 2 is wrong: it is multiplied by σ; divide by it.": (
            derived(Slip(whole=lambda eye, rest, sigma: (eye - rest) * sigma))
        ),
        "step 2 is wrong: it is divided by σ², the variance.": (
            derived(Slip(whole=lambda eye, rest, sigma: (eye - rest) / sigma**2))
        ),
        "step 2 is wrong: 1 stands in every place; [i = j] is 0 beside the diagonal.": (
            derived(Slip(whole=lambda eye, rest, sigma: (1 - rest) / sigma))
        ),
        "this is step 2 alone; all three steps are asked for.": (
            lambda x, g: _layer_norm_derivative(x, g)[1]
        ),
        "step 2 is wrong: 1 stands where 1/d belongs.": (
            derived(Slip(whole=lambda eye, rest, sigma: (eye - rest - 1 + 1 / len(eye)) / sigma))
        ),
        "step 2 is wrong: neither 1 nor n_i n_j is divided by d.": (
            derived(Slip(whole=lambda eye, rest, sigma: (eye - len(eye) * rest) / sigma))
        ),
        "step 2 is wrong: [i = j] is missing.": (
            derived(Slip(whole=lambda eye, rest, sigma: -rest / sigma))
        ),
        "step 2 is wrong: the distances from the mean stand where n_i n_j belongs.": (
            second_box(lambda n, sigma, mean: torch.outer(n * sigma, n * sigma))
        ),
        "step 2 is wrong: x_i x_j stands where n_i n_j belongs.": (
            second_box(lambda n, sigma, mean: torch.outer(n * sigma + mean, n * sigma + mean))
        ),
        "step 2 is wrong: one of n_i and n_j is not divided by σ.": (
            second_box(lambda n, sigma, mean: torch.outer(n * sigma, n))
        ),
        "step 2 is wrong: n_i n_j is divided by σ once more.": (
            second_box(lambda n, sigma, mean: torch.outer(n, n) / sigma)
        ),
    },
    cases=[
        (normal(4, seed=0), normal(4, seed=1)),
        (normal(3, seed=2, dtype=torch.float32), normal(3, seed=3, dtype=torch.float32)),
        (5 * normal(6, seed=4), normal(6, seed=5)),
    ],
)

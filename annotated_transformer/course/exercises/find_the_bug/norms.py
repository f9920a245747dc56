"""Find the bug: a test that compares every layer normalisation with the formula."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal
from annotated_transformer.course.exercises.find_the_bug.diagnosis import (
    HEADS,
    HEALTHY,
    NORMS,
    SCALE,
    TRAINING,
    Change,
    Model,
    Test,
    put_to_test,
)
from annotated_transformer.transformer import Transformer

X = normal(2, 3, 8, seed=0)
Norm = nn.LayerNorm


def _norms_agree(model: Transformer) -> bool:
    """Does each layer normalisation compute the formula?"""
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            expected = F.layer_norm(X, (8,), part.weight, part.bias, part.eps)
            if not torch.allclose(part(X), expected):
                return False
    return True


def _norms(model: nn.Module) -> list[Norm]:
    return [part for part in model.modules() if isinstance(part, nn.LayerNorm)]


def _is_right(part: Norm, atol: float = 1e-8) -> bool:
    right = F.layer_norm(X, (8,), part.weight, part.bias, part.eps)
    return torch.allclose(part(X), right, atol=atol)


def _all(right: Callable[[Norm], bool], of: slice = slice(None)) -> Test:
    """A test that asks something else of the normalisations, or not of all."""
    return lambda model: all(map(right, _norms(model)[of]))


def _is_by_hand(
    part: Norm,
    unbiased: bool = False,
    add: Callable[[Tensor, float], Tensor] = lambda variance, eps: (variance + eps).sqrt(),
    atol: float = 1e-8,
) -> bool:
    """Whether a normalisation is that of a formula, which may have a mistake."""
    variance = X.var(-1, keepdim=True, unbiased=unbiased)
    right = (X - X.mean(-1, keepdim=True)) / add(variance, part.eps) * part.weight + part.bias
    return torch.allclose(part(X), right, atol=atol)


def _children(model: Transformer) -> bool:
    return all(_is_right(part) for part in model.children() if isinstance(part, nn.LayerNorm))


def _as_if_trained(model: Transformer) -> None:
    """Small gains and large biases: what a tiny ε does is not seen there."""
    for i, part in enumerate(_norms(model)):
        part.weight.data = 0.1 * normal(8, seed=i)
        part.bias.data = 5 + normal(8, seed=i + 100)


def _large_eps(model: Transformer) -> None:
    _as_if_trained(model)
    for part in _norms(model):
        part.eps = 10.0


class _Renamed(nn.LayerNorm):
    """It does what nn.LayerNorm does."""


class _Reversed(nn.LayerNorm):
    """The right numbers in the wrong places."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input).flip(-1)


def _become(kind: type[Norm]) -> Change:
    def change(model: Transformer) -> None:
        for part in _norms(model):
            part.__class__ = kind

    return change


def _only(chosen: int) -> Change:
    """Cure all norms but one."""

    def change(model: Transformer) -> None:
        norms = _norms(model)
        norms.pop(chosen)
        for part in norms:
            part.__class__ = nn.LayerNorm

    return change


norms_agree = Exercise(
    ask=put_to_test,
    reference=_norms_agree,
    mistakes={
        "your own deviation is the unbiased one; layer normalisation divides by d, not d − 1.": (
            _all(lambda part: _is_by_hand(part, unbiased=True, atol=1e-4))
        ),
        "weight and bias are forgotten; in a trained healthy model they are not 1 and 0.": (
            _all(lambda part: torch.allclose(part(X), F.layer_norm(X, (8,), eps=part.eps)))
        ),
        "ε is not the model's (part.eps), or not under the root: add it to σ² there.": (
            _all(lambda part: _is_by_hand(part, add=lambda variance, _: (variance + 1e-5).sqrt()))
        ),
        "only the mean and the deviation of the result are compared; take all its numbers.": (
            _all(
                lambda part: all(
                    torch.allclose(
                        how(part(X)), how(F.layer_norm(X, (8,), part.weight, part.bias, part.eps))
                    )
                    for how in (Tensor.mean, Tensor.std)
                )
            )
        ),
        "only the first layer normalisation decides; a later one may be wrong.": (
            _all(_is_right, slice(1))
        ),
        "only the last layer normalisation decides; an earlier one may be wrong.": (
            _all(_is_right, slice(-1, None))
        ),
        "some layer normalisations stand deeper: children() stops at the first level.": _children,
        "one right normalisation is enough for this test; all have to be right.": (
            lambda model: any(map(_is_right, _norms(model)))
        ),
        "you ask for the type; what counts is what a part computes.": (
            _all(lambda part: type(part) is nn.LayerNorm)
        ),
        "the tolerance is so large that the mistake is within it.": (
            _all(lambda part: _is_right(part, atol=0.1))
        ),
        "it is the other way round: True means that the model is healthy.": (
            lambda model: not _norms_agree(model)
        ),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (NORMS,),
        (Model("a healthy model with trained norms", change=_as_if_trained),),
        (Model("a healthy model with a large ε", change=_large_eps),),
        (Model("a healthy model whose norms are of a class of its own", change=_become(_Renamed)),),
        (Model("a model with one wrong norm, the last", 2, change=_only(-1)),),
        (Model("a model with one wrong norm, the last but one", 2, change=_only(-2)),),
        (Model("a model with wrong norms and small gains", 2, change=_as_if_trained),),
        (Model("a model whose norms reverse the numbers", change=_become(_Reversed)),),
        (Model("a model with one wrong norm, the first", 2, change=_only(0)),),
        (Model("a model with one wrong norm, inside", 2, change=_only(3)),),
        (SCALE,),
        (HEADS,),
    ],
)

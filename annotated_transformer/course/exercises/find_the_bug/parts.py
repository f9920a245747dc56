"""Find the bug: tests of the parts of a model."""

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal
from annotated_transformer.course.exercises.find_the_bug.diagnosis import (
    COPIES,
    HEADS,
    HEALTHY,
    NORMS,
    SCALE,
    TRAINING,
    Model,
    healthy,
    put_to_test,
)
from annotated_transformer.transformer import Transformer


def _layers_differ(model: Any) -> bool:
    for stack in (model.encoder, model.decoder):
        for a, b in combinations(stack, 2):
            if torch.equal(a.feed_forward.inner.weight, b.feed_forward.inner.weight):
                return False
    return True


def _differ(a: Any, b: Any) -> bool:
    return not torch.equal(a.feed_forward.inner.weight, b.feed_forward.inner.weight)


def _copy_layer(source: int, place: int) -> Model:
    def change(model: Transformer) -> None:
        model.encoder[place].load_state_dict(model.encoder[source].state_dict())

    names = ["first", "second", "third"]
    return Model(
        f"a model whose {names[place]} layer starts as its {names[source]}", 0, False, 3, change
    )


def _norms_differ(model: Transformer) -> bool:
    gains = [part.weight for part in _norms(model)]
    return not any(torch.equal(a, b) for a, b in combinations(gains, 2))


layers_differ = Exercise(
    ask=put_to_test,
    reference=_layers_differ,
    mistakes={
        "you pass every model: compare the numbers in the layers, not the layers as objects.": (
            lambda model: True
        ),
        "you call every model ill; do not compare a layer with itself.": lambda model: False,
        "LayerNorm starts alike everywhere; compare matrices.": _norms_differ,
        "you look at the encoder only.": (
            lambda model: all(_differ(a, b) for a, b in combinations(model.encoder, 2))
        ),
        "you look at the decoder only.": (
            lambda model: all(_differ(a, b) for a, b in combinations(model.decoder, 2))
        ),
        "you compare neighbours only; the first and the third may be copies.": (
            lambda model: all(
                _differ(a, b) for s in (model.encoder, model.decoder) for a, b in pairwise(s)
            )
        ),
        "you compare the first layer with the last only.": (
            lambda model: all(_differ(s[0], s[-1]) for s in (model.encoder, model.decoder))
        ),
        "it is the other way round: True means that the model is healthy.": (
            lambda model: not _layers_differ(model)
        ),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (COPIES,),
        (Model("a model whose encoder layers start as copies", 5, change=healthy("decoder")),),
        (Model("a model whose decoder layers start as copies", 5, change=healthy("encoder")),),
        (Model("a healthy model of three layers", layers=3),),
        (Model("a healthy model with trained norms", change=lambda model: _as_if_trained(model)),),
        (_copy_layer(0, 1),),
        (_copy_layer(0, 2),),
        (HEADS,),
    ],
)


X = normal(2, 3, 8, seed=0)


def _norms_agree(model: Transformer) -> bool:
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            expected = F.layer_norm(X, (8,), part.weight, part.bias, part.eps)
            if not torch.allclose(part(X), expected):
                return False
    return True


def _norms(model: Transformer) -> list[nn.LayerNorm]:
    return [part for part in model.modules() if isinstance(part, nn.LayerNorm)]


def _by_hand(part: nn.LayerNorm, unbiased: bool = False) -> Tensor:
    variance = X.var(-1, keepdim=True, unbiased=unbiased)
    return (X - X.mean(-1, keepdim=True)) / (variance + part.eps).sqrt() * part.weight + part.bias


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


def _rename(model: Transformer) -> None:
    for part in _norms(model):
        part.__class__ = _Renamed


def _only(chosen: Callable[[Transformer], nn.Module]) -> Callable[[Transformer], None]:
    """Cure all norms but one."""

    def change(model: Transformer) -> None:
        for part in _norms(model):
            if part is not chosen(model):
                part.__class__ = nn.LayerNorm

    return change


norms_agree = Exercise(
    ask=put_to_test,
    reference=_norms_agree,
    mistakes={
        "you pass every model: a mean of 0 or the right shape is not enough.": lambda model: True,
        "you call every model ill: with == the last digit decides; allow for rounding.": (
            lambda model: False
        ),
        "your own deviation is the unbiased one; layer normalisation divides by d, not d − 1.": (
            lambda model: all(
                torch.allclose(p(X), _by_hand(p, True), atol=1e-4) for p in _norms(model)
            )
        ),
        "you forget that weight and bias are trained; then a healthy model differs, too.": (
            lambda model: all(torch.allclose(p(X), F.layer_norm(X, (8,))) for p in _norms(model))
        ),
        "ε is not the model's (part.eps), or not under the root: add it to σ² there.": (
            lambda model: all(
                torch.allclose(p(X), F.layer_norm(X, (8,), p.weight, p.bias)) for p in _norms(model)
            )
        ),
        "you look at the first layer normalisation only.": (
            lambda model: torch.allclose(_norms(model)[0](X), _by_hand(_norms(model)[0]))
        ),
        "you ask for the type; what counts is what a part computes.": (
            lambda model: all(type(part) is nn.LayerNorm for part in _norms(model))
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
        (Model("a healthy model whose norms are of a class of its own", change=_rename),),
        (Model("one wrong norm, at the end", 2, change=_only(lambda m: m.decoder_norm)),),
        (SCALE,),
        (HEADS,),
    ],
)

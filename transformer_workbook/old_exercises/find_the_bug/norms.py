"""Find the bug: a test that compares every layer normalisation with the formula."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.transformer import Transformer
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.find_the_bug.diagnosis import (
    HEADS,
    HEALTHY,
    NORMS,
    SCALE,
    TRAINING,
    Model,
    Test,
    put_to_test,
)
from transformer_workbook.old_exercises.find_the_bug.other_formulas import (
    OTHER_FORMULAS,
    X,
    is_by_hand,
)
from transformer_workbook.old_exercises.find_the_bug.other_norms import (
    TRAINED_IN_PART,
    Renamed,
    Reversed,
    as_if_trained,
    become,
    cure,
    large_eps,
    norms,
    only,
    trained_in_reverse,
)

Norm = nn.LayerNorm


def _norms_agree(model: Transformer) -> bool:
    """Does each layer normalisation compute the formula?"""
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            expected = F.layer_norm(X, (8,), part.weight, part.bias, part.eps)
            if not torch.allclose(part(X), expected):
                return False
    return True


def _is_right(part: Norm, atol: float = 1e-8) -> bool:
    right = F.layer_norm(X, (8,), part.weight, part.bias, part.eps)
    return torch.allclose(part(X), right, atol=atol)


def _all(right: Callable[[Norm], bool], of: slice = slice(None)) -> Test:
    """A test that asks something else of the normalisations, or not of all."""
    return lambda model: all(map(right, norms(model)[of]))


def _agree(part: Norm, x: Tensor, look: Callable[[Tensor], Tensor] = lambda x: x) -> bool:
    """Whether a normalisation does with x what PyTorch's does."""
    right = F.layer_norm(x, (8,), part.weight, part.bias, part.eps)
    return torch.allclose(look(part(x)), look(right))


def _children(model: Transformer) -> bool:
    return all(_is_right(part) for part in model.children() if isinstance(part, nn.LayerNorm))


norms_agree = Exercise(
    ask=put_to_test,
    reference=_norms_agree,
    given={
        "your own deviation is the unbiased one; layer normalisation divides by d, not d − 1.": (
            _all(lambda part: is_by_hand(part, unbiased=True, atol=1e-4))
        ),
        "weight and bias are forgotten; in a trained healthy model they are not 1 and 0.": (
            _all(lambda part: torch.allclose(part(X), F.layer_norm(X, (8,), eps=part.eps)))
        ),
        "ε is not the model's (part.eps), or not under the root: add it to σ² there.": (
            _all(lambda part: is_by_hand(part, add=lambda variance, _: (variance + 1e-5).sqrt()))
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
        **{sentence: _all(right) for sentence, right in OTHER_FORMULAS.items()},
        "only sums are compared; they may agree where the numbers do not.": (
            _all(lambda part: _agree(part, X, Tensor.sum))
        ),
        "your x is constant: whatever divides it, the result is β.": (
            _all(lambda part: _agree(part, torch.ones_like(X)))
        ),
        "only the second layer normalisation decides; any may be wrong.": (
            _all(_is_right, slice(1, 2))
        ),
        "only the norms of the encoder are compared; the decoder has some, too.": (
            lambda model: all(map(_is_right, norms(model.encoder)))
        ),
        "only the norms of the decoder are compared; the encoder has some, too.": (
            lambda model: all(map(_is_right, norms(model.decoder)))
        ),
        "only the first layer normalisation decides; a later one may be wrong.": (
            _all(_is_right, slice(1))
        ),
        "only the last layer normalisation decides; an earlier one may be wrong.": (
            _all(_is_right, slice(-1, None))
        ),
        "some layer normalisations stand deeper: children() stops at the first level.": _children,
        "one right normalisation is enough for this test; all have to be right.": (
            lambda model: any(map(_is_right, norms(model)))
        ),
        "you ask for the type; what counts is what a part computes.": (
            _all(lambda part: type(part) is nn.LayerNorm)
        ),
        "the tolerance is so large that the mistake is within it.": (
            _all(lambda part: _is_right(part, atol=0.1))
        ),
        "the tolerance is so large that only a coarse mistake is outside it.": (
            _all(lambda part: _is_right(part, atol=0.3))
        ),
        "it is the other way round: True means that the model is healthy.": (
            lambda model: not _norms_agree(model)
        ),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (NORMS,),
        (Model("a healthy model with trained norms", change=as_if_trained),),
        (Model("a healthy model with a large ε", change=large_eps),),
        (Model("a healthy model whose norms are of a class of its own", change=become(Renamed)),),
        (Model("a model with one wrong norm, the last", 2, change=only(-1)),),
        (Model("a model with one wrong norm, the last but one", 2, change=only(-2)),),
        (Model("a model with wrong norms and small gains", 2, change=as_if_trained),),
        (Model("a model whose norms reverse the numbers", change=become(Reversed)),),
        (Model("a model with one wrong norm, the first", 2, change=only(0)),),
        (Model("a model with one wrong norm inside", 2, change=only(3)),),
        (SCALE,),
        (HEADS,),
        (Model("a model whose trained norms reverse the numbers", change=trained_in_reverse),),
        *(
            (Model(f"a healthy model whose norms have {what}", change=change),)
            for what, change in TRAINED_IN_PART.items()
        ),
        (Model("a model with wrong norms in the decoder only", 2, change=cure("encoder")),),
        (Model("a model with wrong norms in the encoder only", 2, change=cure("decoder")),),
        (Model("a model with one wrong norm, the second", 2, change=only(1)),),
    ],
)

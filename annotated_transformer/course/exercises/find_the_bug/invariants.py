"""Find the bug: tests of what must not change."""

from typing import Any

import torch
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.find_the_bug.diagnosis import (
    DROPPING,
    FUTURE,
    FUTURE_TRAINING,
    HEADS,
    HEALTHY,
    LONG,
    PADDING,
    POSITIONS,
    SHORT,
    SRC,
    TGT_IN,
    TRAINING,
    Model,
    healthy,
    leak,
    put_to_test,
    wrong_answers,
)
from annotated_transformer.transformer import Transformer

OTHER_WORD = 4


def _twice(model: Transformer) -> bool:
    return torch.equal(model(SRC, TGT_IN), model(SRC, TGT_IN))


def _repeats_itself(model: Transformer) -> bool:
    model.eval()
    return torch.equal(model(SRC, TGT_IN), model(SRC, TGT_IN))


repeats_itself = Exercise(
    ask=put_to_test,
    reference=_repeats_itself,
    mistakes={
        "you pass every model: make two runs, and do not seed the generator before each.": (
            lambda model: True
        ),
        "you call every model ill: in training mode a healthy one drops, too.": lambda model: False,
        "you take the model in the mode in which it comes; say model.eval() first.": _twice,
        "you run the encoder alone; the decoder may be what never stops.": (
            lambda model: torch.equal(model.eval().encode(SRC), model.encode(SRC))
        ),
        **wrong_answers(_repeats_itself),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (DROPPING,),
        (Model("a model whose encoder never stops dropping", 4, change=healthy("decoder")),),
        (Model("a model whose decoder never stops dropping", 4, change=healthy("encoder")),),
        (FUTURE,),
        (HEADS,),
    ],
)


def _with(at: int) -> Tensor:
    """What the decoder reads, with another word at one place."""
    changed = TGT_IN.clone()
    changed[:, at] = OTHER_WORD
    return changed


def _hides_the_future(model: Transformer) -> bool:
    model.eval()
    logits = model(SRC, TGT_IN)
    for t in range(1, TGT_IN.size(1)):
        if not torch.allclose(model(SRC, _with(t))[:, :t], logits[:, :t]):
            return False
    return True


BOTH, FIRST, SECOND = slice(None), slice(0, 1), slice(1, 2)


def _same(model: Transformer, changed: Tensor, where: slice, sentence: slice = BOTH) -> bool:
    before, after = model(SRC, TGT_IN)[sentence], model(SRC, changed)[sentence]
    return torch.allclose(after[:, where], before[:, where])


def _hidden_in(model: Transformer, sentence: slice) -> bool:
    return all(_same(model.eval(), _with(t), slice(t), sentence) for t in range(1, 5))


def _source_does_not_matter(model: Transformer) -> bool:
    return torch.allclose(model.eval()(SRC.flip(0), TGT_IN), model(SRC, TGT_IN))


def _ignore_the_source(model: Any) -> None:
    for layer in model.decoder:
        layer.cross_attention.output.weight.data.zero_()


hides_the_future = Exercise(
    ask=put_to_test,
    reference=_hides_the_future,
    mistakes={
        "you pass every model: change a word that stands later than the logits you compare.": (
            lambda model: True
        ),
        "you call every model ill: the logits at the changed word and after it may change.": (
            lambda model: False
        ),
        "you take the model in the mode in which it comes; say model.eval() first.": (
            lambda model: all(_same(model, _with(t), slice(t)) for t in range(1, 5))
        ),
        "you change only the last word; an early position may see another one.": (
            lambda model: _same(model.eval(), _with(-1), slice(-1))
        ),
        "you compare only the first position; a later one may see the future.": (
            lambda model: all(_same(model.eval(), _with(t), slice(1)) for t in range(1, 5))
        ),
        "you compare only the position before the changed word; a leak may reach farther.": (
            lambda model: all(_same(model.eval(), _with(t), slice(t - 1, t)) for t in range(1, 5))
        ),
        "you look at the first sentence only; the leak may be in another.": (
            lambda model: _hidden_in(model, FIRST)
        ),
        "you look at the second sentence only; the leak may be in another.": (
            lambda model: _hidden_in(model, SECOND)
        ),
        "you change the source; each word may depend on that, but not on later target words.": (
            _source_does_not_matter
        ),
        **wrong_answers(_hides_the_future),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (FUTURE,),
        (FUTURE_TRAINING,),
        (HEADS,),
        (PADDING,),
        (POSITIONS,),
        (Model("a model whose first position sees the second", change=leak(0, 1)),),
        (Model("a model whose third position sees the fourth", change=leak(2, 3)),),
        (Model("a model whose second position sees the last", layers=1, change=leak(1, 4)),),
        (Model("a model that sees the future if the source is long", change=leak(2, 3, LONG)),),
        (Model("a model that sees the future if the source is short", change=leak(2, 3, SHORT)),),
        (Model("a model that ignores the source", change=_ignore_the_source),),
    ],
)

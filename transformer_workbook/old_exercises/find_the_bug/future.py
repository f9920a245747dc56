"""Find the bug: a test that no position depends on a later word."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.transformer import Transformer
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.find_the_bug.diagnosis import (
    EARLY_LEAK,
    FUTURE,
    FUTURE_TRAINING,
    HEADS,
    HEALTHY,
    LEAK,
    LONG_LEAK,
    PADDING,
    POSITIONS,
    SHORT_LEAK,
    SRC,
    TGT_IN,
    TRAINING,
    Model,
    Pair,
    Test,
    coarse_answers,
    leak,
    put_to_test,
    read_at_once,
    turn_last,
    turned_round,
    very_tolerant,
)
from transformer_workbook.old_exercises.find_the_bug.healthy import (
    COUNTING,
    DEAF,
    LATE,
    STEADY,
)

OTHER_WORD = 4
PLACES = range(1, TGT_IN.size(1))


def _with(at: int) -> Tensor:
    """What the decoder reads, with another word at one place."""
    changed = TGT_IN.clone()
    changed[:, at] = OTHER_WORD
    return changed


def _hides_the_future(model: Transformer) -> bool:
    """Does no position depend on a later word?"""
    model.eval()
    logits = model(SRC, TGT_IN)
    for t in range(1, TGT_IN.size(1)):
        if not torch.allclose(model(SRC, _with(t))[:, :t], logits[:, :t]):
            return False
    return True


def _before_and_after(model: Transformer) -> Pair:
    """The logits before each changed word, without the change and with it; the rest is zero."""
    before = torch.stack([model(SRC, TGT_IN)[:, :-1] for _ in PLACES])
    after = torch.stack([model(SRC, _with(t))[:, :-1] for t in PLACES])
    compared = torch.ones(len(PLACES), len(PLACES)).tril()[:, None, :, None]
    return before * compared, after * compared


def _last_change(model: Transformer) -> bool:
    before, after = _before_and_after(model.eval())
    return torch.allclose(before[-1], after[-1])


def _nearest(model: Transformer) -> bool:
    before, after = _before_and_after(model.eval())
    return all(torch.allclose(before[i, :, i], after[i, :, i]) for i in range(len(PLACES)))


def _never_the_last(model: Transformer) -> bool:
    before, after = _before_and_after(model.eval())
    return torch.allclose(before[:-1], after[:-1])


def _up_to(end: Callable[[int], int]) -> Test:
    """The test that compares more than the positions before the changed word."""

    def test(model: Transformer) -> bool:
        logits = model.eval()(SRC, TGT_IN)
        return all(
            torch.allclose(model(SRC, _with(t))[:, : end(t)], logits[:, : end(t)]) for t in PLACES
        )

    return test


def _source_does_not_matter(model: Transformer) -> bool:
    return torch.allclose(model.eval()(SRC.flip(0), TGT_IN), model(SRC, TGT_IN))


def _leak_faintly(src: Tensor, logits: Tensor) -> Tensor:
    """A thousandth of each position's logits gets into the position before."""
    return logits + 1e-3 * torch.cat([logits[:, 1:], 0 * logits[:, :1]], dim=1)


def _leak_last(src: Tensor, logits: Tensor) -> Tensor:
    """The last word's logit is that of the next position."""
    return turn_last(-1, lambda last: last.roll(-1, 1))(logits)


hides_the_future = Exercise(
    ask=put_to_test,
    reference=_hides_the_future,
    given={
        **coarse_answers(_before_and_after),
        **very_tolerant(_before_and_after),
        "only the last word's change decides; an early position may see another word.": (
            _last_change
        ),
        "only the position before the changed word decides; a leak may reach farther.": _nearest,
        "the last word is never changed; it is the future of all others.": _never_the_last,
        "the changed position is compared, too; only those before it do not see the new word.": (
            _up_to(lambda t: t + 1)
        ),
        "positions are compared that come after a changed word, of this round or an earlier one.": (
            _up_to(lambda t: TGT_IN.size(1))
        ),
        "the source is changed; each word may depend on that, but not on later target words.": (
            _source_does_not_matter
        ),
        **turned_round(_hides_the_future),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (FUTURE,),
        (FUTURE_TRAINING,),
        (HEADS,),
        (PADDING,),
        (POSITIONS,),
        (EARLY_LEAK,),
        (LEAK,),
        (Model("a model whose second position sees the last", layers=1, change=leak(1, 4)),),
        (Model("a model whose fourth position sees the last", layers=1, change=leak(3, 4)),),
        (LONG_LEAK,),
        (SHORT_LEAK,),
        (Model("a model with a small leak", change=read_at_once(_leak_faintly)),),
        (Model("a model with a leak into its last logit", change=read_at_once(_leak_last)),),
        *((model,) for model in (DEAF, COUNTING, LATE, STEADY)),
    ],
)

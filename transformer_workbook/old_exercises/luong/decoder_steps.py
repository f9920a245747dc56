"""Luong attention: the steps of its decoder."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.soft_lookup import masked_softmax
from transformer_workbook.exercises.cases import loaded, normal
from transformer_workbook.judge.exercises import Exercise


def _input_feeding(
    words: Float[Tensor, "batch tgt d_y"],
    s: Float[Tensor, "batch d_s"],
    memory: Float[Tensor, "batch src d_s"],
    mask: Bool[Tensor, "batch 1 src"],
    weight_ih: Float[Tensor, "gates fed"],
    weight_hh: Float[Tensor, "gates d_s"],
    bias_ih: Float[Tensor, " gates"],
    bias_hh: Float[Tensor, " gates"],
    W_c: Float[Tensor, "d both"],
) -> Float[Tensor, "batch tgt d"]:
    """The attentional states of a decoder that is fed the one before."""
    attentional, steps = s.new_zeros(len(s), len(W_c)), []
    for word in words.unbind(1):
        fed = torch.cat([word, attentional], dim=1)
        s = torch.gru_cell(fed, s, weight_ih, weight_hh, bias_ih, bias_hh)
        context = masked_softmax(s.unsqueeze(1) @ memory.mT, mask) @ memory
        attentional = torch.tanh(torch.cat([context.squeeze(1), s], dim=1) @ W_c.mT)
        steps.append(attentional)
    return torch.stack(steps, dim=1)


def _ask(
    answer: Any, words: Tensor, s: Tensor, memory: Tensor, mask: Tensor, *weights: Tensor
) -> Any:
    """Build a class, give it the weights, and run it; the reference is a function of all."""
    if isinstance(answer, nn.Module):
        raise TypeError("the class itself is asked for, not one layer of it")
    if not isinstance(answer, type):
        return answer(words, s, memory, mask, *weights)
    names = [f"cell.{name}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    named = dict(zip([*names, "W_c.weight"], weights, strict=True))
    layer = loaded(answer(words.size(-1), s.size(-1), len(weights[-1])), named)
    with torch.no_grad():
        return None if layer is None else layer(words, s, memory, mask)


def _wrong(
    feed: Callable[[Tensor, Tensor], list[Tensor]] = lambda word, fed: [word, fed],
    query: Callable[[Tensor, Tensor], Tensor] = lambda old, new: new,
    keep: Callable[[Tensor, Tensor], Tensor] = lambda old, new: new,
    weigh: Callable[[Tensor, Tensor], Tensor] = masked_softmax,
    join: Callable[[Tensor, Tensor], list[Tensor]] = lambda context, s: [context, s],
    squeeze: Callable[[Tensor], Tensor] = torch.tanh,
    give: Callable[..., Tensor] = lambda before, after, context, s: after,
) -> Callable[..., Tensor]:
    """A decoder in which one of the steps is another."""

    def decode(words: Tensor, s: Tensor, memory: Tensor, mask: Tensor, *weights: Tensor) -> Tensor:
        *gru, W_c = weights
        after, steps = s.new_zeros(len(s), len(W_c)), []
        for word in words.unbind(1):
            old, before = s, after
            s = torch.gru_cell(torch.cat(feed(word, before), 1), old, *gru)
            scores = query(old, s)[:, None] @ memory.mT
            context = (weigh(scores, mask) @ memory)[:, 0]
            after = squeeze(torch.cat(join(context, s), 1) @ W_c.mT)
            steps.append(give(before, after, context, s))
            s = keep(old, s)
        return torch.stack(steps, 1)

    return decode


def _case(batch: int, tgt: int, d_y: int, d_s: int, src: int, d: int) -> tuple[Tensor, ...]:
    """The source sentences end with one or two words of padding, in turn."""
    mask = torch.arange(src) < src - 1 - torch.arange(batch)[:, None, None] % 2
    words, s, memory = (batch, tgt, d_y), (batch, d_s), (batch, src, d_s)
    weights = (3 * d_s, d_y + d), (3 * d_s, d_s), (3 * d_s,), (3 * d_s,), (d, 2 * d_s)
    tensors = [normal(*size, seed=i) for i, size in enumerate((words, s, memory, *weights))]
    return *tensors[:3], mask, *(weight / 2 for weight in tensors[3:])


_states = _wrong(give=lambda before, after, context, s: s)


input_feeding = Exercise(
    reference=_input_feeding,
    given={
        "the cell is fed zeros at every step; feed it the attentional state of the step before.": (
            _wrong(lambda word, fed: [word, 0 * fed])
        ),
        "the order is swapped: the cell reads [y; h̃], the word first.": (
            _wrong(lambda word, fed: [fed, word])
        ),
        "the query is the state before the step; Luong asks with the new one.": (
            _wrong(query=lambda old, new: old)
        ),
        "each step goes on from the first state; go on from the newest.": (
            _wrong(keep=lambda old, new: old)
        ),
        "padding gets weight: these states do not depend on the mask.": (
            _wrong(weigh=lambda e, mask: e.softmax(-1))
        ),
        "the mask is inverted: True means may attend.": (
            _wrong(weigh=lambda e, mask: masked_softmax(e, ~mask))
        ),
        "masked after the softmax: the weights that are left no longer sum to 1.": (
            _wrong(weigh=lambda e, mask: e.softmax(-1) * mask)
        ),
        "a masked score of 0 is not a weight of 0, for e⁰ = 1; it must be −∞.": (
            _wrong(weigh=lambda e, mask: (e * mask).softmax(-1))
        ),
        "the softmax is missing: the weights of a step do not sum to 1.": (
            _wrong(weigh=lambda e, mask: e * mask)
        ),
        "the best word has all the weight; a soft lookup mixes all of them.": (
            _wrong(weigh=lambda e, mask: masked_softmax(1e9 * e, mask))
        ),
        "the context is the plain mean of the real words; the scores are not used.": (
            _wrong(weigh=lambda e, mask: masked_softmax(0 * e, mask))
        ),
        "the context is the plain mean of all words; neither scores nor mask are used.": (
            _wrong(weigh=lambda e, mask: (0 * e).softmax(-1))
        ),
        "the softmax goes over the one query, so that every real word has the weight 1.": (
            _wrong(weigh=lambda e, mask: mask.to(e))
        ),
        "the scores are divided by √d; the dot score is not (the Transformer's will be).": (
            _wrong(query=lambda old, new: new / new.size(-1) ** 0.5)
        ),
        "the order is swapped: the context stands first, [c; s].": (
            _wrong(join=lambda context, s: [s, context])
        ),
        "tanh is missing after W_c.": _wrong(squeeze=lambda x: x),
        "these are the states before each step: the first is zero, and the last is missing.": (
            _wrong(give=lambda before, after, context, s: before)
        ),
        "these are the states s of the cell; the attentional states are asked for.": (_states),
        "these are the contexts; the attentional states are asked for.": (
            _wrong(give=lambda before, after, context, s: context)
        ),
        "the cell is fed W_c [c; s] without its tanh.": (
            _wrong(squeeze=lambda x: x, give=lambda before, after, context, s: after.tanh())
        ),
        "the attentional states go through a sigmoid; tanh is asked for.": (
            _wrong(squeeze=torch.sigmoid)
        ),
        "the cell begins with zeros; it begins with the state s that is given.": (
            lambda words, s, *given: _wrong()(words, 0 * s, *given)
        ),
        "the words come one step late; these are the words before the targets already.": (
            lambda words, *given: _wrong()(F.pad(words, (0, 0, 1, -1)), *given)
        ),
        "the last state s is returned, too; the attentional states alone are asked for.": (
            lambda *given: (_wrong()(*given), _states(*given)[:, -1])
        ),
        "this is the last step only; the states of all steps are asked for.": (
            lambda *given: _wrong()(*given)[:, -1]
        ),
    },
    cases=[
        _case(2, 3, 4, 5, 6, 7),
        tuple(x.float() if x.is_floating_point() else x for x in _case(3, 4, 2, 7, 5, 6)),
        _case(4, 5, 7, 3, 8, 10),
    ],
    ask=_ask,
)

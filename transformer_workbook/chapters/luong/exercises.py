from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.soft_lookup import masked_softmax
from annotated_transformer.toy import toy_corpus
from transformer_workbook.judge import (
    derivation,
    exercise,
    normal,
    number,
    put_to_work,
    random_cases,
)

Weights = dict[str, Tensor]


def _attending_case(
    batch: int, word: int, row: int, d: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor, Weights]:
    """States, rows of which none, one or two are hidden, and weights for a layer."""
    mask = torch.arange(row) >= torch.arange(batch)[:, None] % 3
    shapes = {"mix.weight": (d, 2 * d), "mix.bias": (d,)}
    weights = {name: normal(*shape, seed=d, dtype=dtype) / 2 for name, shape in shapes.items()}
    s, h = (normal(batch, n, d, seed=n, dtype=dtype) for n in (word, row))
    return s, h, mask, weights


def _attend(
    kind: Callable[..., nn.Module], s: Tensor, h: Tensor, mask: Tensor, weights: Weights
) -> Any:
    """Build a layer, give it weights, and let the states attend."""
    return put_to_work(kind(s.size(-1)), weights, s, h, mask)


@exercise(
    [
        _attending_case(2, 3, 4, 5),
        _attending_case(3, 6, 5, 2, dtype=torch.float32),
        _attending_case(4, 2, 6, 3),
    ],
    ask=_attend,
    gap=True,
)
def attend_at_once(d: int) -> nn.Module:
    """Let all states of a decoder attend at once, and mix what they find with themselves."""

    class Attend(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = nn.Linear(2 * d, d)

        def forward(self, s: Tensor, h: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
            scores = s @ h.mT
            scores = scores.masked_fill(~mask[:, None], -torch.inf)
            weights = scores.softmax(dim=-1)
            context = weights @ h
            both = torch.cat([context, s], dim=-1)
            mixed = torch.tanh(self.mix(both))
            return mixed, weights

    return Attend()


@exercise(random_cases("... query d_s", "... key d_h", "d_s d_h"))
def general_scores(
    query: Float[Tensor, "*batch query d_s"],
    key: Float[Tensor, "*batch key d_h"],
    W: Float[Tensor, "d_s d_h"],
) -> Float[Tensor, "*batch query key"]:
    """The general scores of every query with every key."""
    asked = query @ W
    scores = asked @ key.mT
    return scores


@exercise(random_cases("steps d", "src d"))
def luong_context(
    states: Float[Tensor, "steps d"], memory: Float[Tensor, "src d"]
) -> Float[Tensor, "tgt d"]:
    """The contexts of Luong's model, from all states of the decoder."""
    queries = states[1:]  # the first state stands before the first word
    scores = queries @ memory.mT
    weights = scores.softmax(dim=-1)
    return weights @ memory


def _feeding_case(batch: int, tgt: int, d_y: int, d_s: int, src: int, d: int) -> tuple[Tensor, ...]:
    """The source sentences end with one or two words of padding, in turn."""
    mask = torch.arange(src) < src - 1 - torch.arange(batch)[:, None, None] % 2
    words, s, memory = (batch, tgt, d_y), (batch, d_s), (batch, src, d_s)
    weights = (3 * d_s, d_y + d), (3 * d_s, d_s), (3 * d_s,), (3 * d_s,), (d, 2 * d_s)
    tensors = [normal(*size, seed=i) for i, size in enumerate((words, s, memory, *weights))]
    return *tensors[:3], mask, *(weight / 2 for weight in tensors[3:])


def _build_and_run(
    answer: Any, words: Tensor, s: Tensor, memory: Tensor, mask: Tensor, *weights: Tensor
) -> Any:
    """Build a class, give it the weights, and run it; the reference is a function of all."""
    if isinstance(answer, nn.Module):
        raise TypeError("the class itself is asked for, not one layer of it")
    if not isinstance(answer, type):
        return answer(words, s, memory, mask, *weights)
    names = [f"cell.{name}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    named = dict(zip([*names, "W_c.weight"], weights, strict=True))
    layer = answer(words.size(-1), s.size(-1), len(weights[-1]))
    return put_to_work(layer, named, words, s, memory, mask)


@exercise(
    [
        _feeding_case(2, 3, 4, 5, 6, 7),
        tuple(x.float() if x.is_floating_point() else x for x in _feeding_case(3, 4, 2, 7, 5, 6)),
        _feeding_case(4, 5, 7, 3, 8, 10),
    ],
    ask=_build_and_run,
)
def input_feeding(
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
    attentional = s.new_zeros(len(s), len(W_c))
    steps = []
    for word in words.unbind(dim=1):
        fed = torch.cat([word, attentional], dim=1)
        s = torch.gru_cell(fed, s, weight_ih, weight_hh, bias_ih, bias_hh)
        scores = s[:, None] @ memory.mT
        weights = masked_softmax(scores, mask)
        context = (weights @ memory)[:, 0]
        attentional = torch.tanh(torch.cat([context, s], dim=1) @ W_c.mT)
        steps.append(attentional)
    return torch.stack(steps, dim=1)


@exercise(
    [
        ("dot", 4, 4, 5),
        ("general", 3, 4, 5),
        ("general", 6, 2, 4),
        ("concat", 3, 4, 5),
        ("concat", 6, 5, 2),
    ]
)
def score_parameters(score: str, d_s: int, d_h: int, d: int) -> int:
    """How many parameters a score has."""
    if score == "dot":
        return 0
    if score == "general":
        return d_s * d_h
    matrix = d * (d_s + d_h)
    v = d
    return matrix + v


@cache
def link_distances() -> list[int]:
    """How far to the right of the target position each gold link ends, in 400 pairs."""
    pairs = toy_corpus(pairs=400)["train"]
    return [source - target for pair in pairs for source, target in pair.alignment]


def share_within(D: int) -> float:
    """The share of the links that are no farther away than D."""
    return sum(abs(distance) <= D for distance in link_distances()) / len(link_distances())


def window_for(distances: Iterable[int], share: float = 0.9) -> int:
    """The smallest D so that a share of the distances is no larger."""
    known = list(distances)
    return next(D for D in range(40) if sum(x <= D for x in known) >= share * len(known))


@number()
def narrowest_window() -> int:
    """How wide a window around position t holds 90 % of the gold links?"""
    return window_for(map(abs, link_distances()))


@derivation(
    [
        (normal(2, seed=0), normal(3, 4, seed=1), normal(2, 4, seed=2)),
        (normal(4, seed=3).float(), normal(5, 3, seed=4).float(), normal(4, 3, seed=5).float()),
        (normal(5, seed=6), normal(4, 2, seed=7), normal(5, 2, seed=8)),
    ]
)
def by_the_query(
    s: Float[Tensor, " d_s"], memory: Float[Tensor, "src d_h"], W: Float[Tensor, "d_s d_h"]
) -> tuple[Tensor, Tensor, Tensor]:
    """The derivative of the context with respect to the query, in three steps."""

    def score(s: Tensor) -> Tensor:
        return memory @ (s @ W)

    def attend(scores: Tensor) -> Tensor:
        return scores.softmax(dim=0) @ memory

    scores = score(s)
    of_scores = torch.func.jacrev(score)(s)
    of_context = torch.func.jacrev(attend)(scores)
    return of_scores, of_context, of_context @ of_scores


@exercise(
    [
        (normal(2, 3, seed=0), normal(5, 3, seed=1), normal(4, 3, seed=2), normal(4, seed=3), 1),
        (
            normal(3, 4, seed=3).float(),
            normal(9, 4, seed=9).float(),
            normal(5, 4, seed=5).float(),
            normal(5, seed=5).float(),
            3,
        ),
        (normal(4, 2, seed=4), normal(8, 2, seed=5), normal(3, 2, seed=6), normal(3, seed=7), 2),
    ]
)
def local_attention(
    states: Float[Tensor, "tgt d"],
    memory: Float[Tensor, "src d"],
    W_p: Float[Tensor, "d_p d"],
    v_p: Float[Tensor, " d_p"],
    D: int,
) -> tuple[Float[Tensor, " tgt"], Float[Tensor, "tgt src"]]:
    """Local attention: the centre of each step, and its weights."""
    centre = len(memory) * torch.sigmoid(torch.tanh(states @ W_p.mT) @ v_p)
    positions = torch.arange(1, len(memory) + 1)
    distance = positions - centre[:, None]
    scores = states @ memory.mT
    outside = distance.abs() > D
    weights = scores.masked_fill(outside, -torch.inf).softmax(dim=1)
    sigma = D / 2
    gaussian = torch.exp(-(distance**2) / (2 * sigma**2))
    return centre, weights * gaussian

"""Checks of decoding: greedy search and beams, beside lists of all translations."""

import math
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.decoding import Search
from annotated_transformer.devices import CPU
from transformer_workbook.own.checks.check import Check, refusal
from transformer_workbook.own.checks.drawn_model import Table
from transformer_workbook.own.checks.searches import (
    EXTRA,
    Found,
    all_translations,
    beam_by_hand,
    greedy_by_hand,
)

EVEN = torch.zeros(1, 6, device=CPU)
ANOTHER = [3, 4, 5, 2]
"""A source for which it matters that what is finished keeps its place, and how lengths count."""
SOURCES = [[4, 2], [5, 3, 2], [4, 4, 2]]
SRC = torch.tensor([[4, 2, 0], [5, 3, 2], [4, 4, 2]], device=CPU)


def _as_found(hypothesis: Any) -> Found:
    return list(hypothesis.tokens), hypothesis.log_prob, hypothesis.score


def _search(width: int, alpha: float = 0.6, best: int = 1) -> Search:
    return Search(beam=width, alpha=alpha, best=best, extra_length=EXTRA)


def _beams(m: Any, width: int, alpha: float, src: Tensor = SRC) -> list[Found]:
    return [_as_found(h[0]) for h in m.beam_search(Table(), src, _search(width, alpha))]


def _alike(m: Any) -> tuple[list[bool], list[str]]:
    """Whether the model is left training, and which kind of search decode makes."""
    model, kept = Table().train(), []
    for search in (_search(1), _search(3)):
        m.decode(model, SRC, search)
        kept.append(model.training)
    same = [m.decode(model, SRC, _search(3)) == m.beam_search(model, SRC, _search(3))]
    same.append(
        [h[0] for h in m.decode(model, SRC, _search(1))] == m.greedy(model, SRC, _search(1))
    )
    return kept, list(map(str, same))


def _samples(m: Any) -> list[bool]:
    both, *each = (
        m.decode(Table(), SRC, Search(sample=True, seed=seed, best=best, extra_length=EXTRA))
        for seed, best in ((3, 2), (3, 1), (4, 1))
    )
    return [both == [x + y for x, y in zip(*each, strict=True)], any(x != y for x, y in both)]


def _begun(m: Any) -> list[list[int]]:
    """Translations that have to begin with a prefix."""
    prefixes = [[3], [5, 4], []]
    greedy = m.greedy(Table(), SRC, _search(1), prefixes)
    found = [*greedy, *(h[0] for h in m.beam_search(Table(), SRC, _search(2), prefixes))]
    return [h.tokens[:n] for h, n in zip(found, (1, 2, 0) * 2, strict=True)]


DECODING = (
    Check(
        "length_penalty",
        "length_penalty(7, 0.5), (1, 2.0) and (9, 0.0)",
        lambda m: [m.length_penalty(*case) for case in ((7, 0.5), (1, 2.0), (9, 0.0))],
        lambda: [2**0.5, 1.0, 1.0],
    ),
    Check(
        "next_log_probs",
        "next_log_probs(torch.zeros(1, 6))",
        lambda m: m.next_log_probs(EVEN),
        lambda: torch.tensor([[-math.inf] * 2 + [-math.log(4)] * 4]),
    ),
    Check(
        "next_log_probs",
        "the errors when a logit is nan, and when it is inf",
        lambda m: [
            refusal(lambda x=x: m.next_log_probs(torch.tensor([[0.0, 0.0, x, 0.0]])))  # type: ignore[misc]
            for x in (math.nan, math.inf)
        ],
        lambda: ["DivergedError"] * 2,
    ),
    Check(
        "without_end",
        "without_end([5, 2]), ([5]) and ([])",
        lambda m: [m.without_end(words) for words in ([5, 2], [5], [])],
        lambda: [[5], [5], []],
    ),
    Check(
        "greedy",
        "greedy search for one sentence, beside a loop over lists",
        lambda m: [_as_found(h) for h in m.greedy(Table(), SRC[1:2], _search(1))],
        lambda: [greedy_by_hand(SOURCES[1])],
    ),
    Check(
        "greedy",
        "greedy search for three sentences together, beside a loop over lists",
        lambda m: [_as_found(h) for h in m.greedy(Table(), SRC, _search(1))],
        lambda: list(map(greedy_by_hand, SOURCES)),
    ),
    *(
        Check(
            "beam_search",
            f"a beam of {width} with alpha={alpha}, beside {said}",
            lambda m, w=width, a=alpha: _beams(m, w, a),  # type: ignore[misc]
            lambda w=width, a=alpha: [  # type: ignore[misc]
                all_translations(src, a)[0] if w == 200 else beam_by_hand(src, w, a)
                for src in SOURCES
            ],
        )
        for width, alpha, said in (
            (1, 0.6, "beam search with lists"),
            (2, 0.6, "beam search with lists"),
            (3, 2.0, "beam search with lists"),
            (200, 0.0, "all translations that there are"),
            (200, 3.0, "all translations that there are"),
        )
    ),
    *(
        Check(
            "beam_search",
            f"a beam of 2 with alpha={alpha} for {ANOTHER}, beside beam search with lists",
            lambda m, a=alpha: _beams(m, 2, a, torch.tensor([ANOTHER])),  # type: ignore[misc]
            lambda a=alpha: [beam_by_hand(ANOTHER, 2, a)],  # type: ignore[misc]
        )
        for alpha in (0.6, 2.0)
    ),
    Check(
        "beam_search",
        "the three best translations of a beam of 200, beside all that there are",
        lambda m: [
            _as_found(h) for h in m.beam_search(Table(), SRC[:1], _search(200, 0.6, best=3))[0]
        ],
        lambda: all_translations(SOURCES[0], 0.6)[:3],
    ),
    Check(
        "decode",
        "whether the model still trains afterwards, and decode is beam_search and greedy",
        _alike,
        lambda: ([True, True], ["True", "True"]),
    ),
    Check(
        "decode",
        "whether two samples with seed=3 are those with seeds 3 and 4, and differ",
        _samples,
        lambda: [True, True],
    ),
    Check(
        "decode",
        "how translations begin whose prefixes are [3], [5, 4] and []",
        _begun,
        lambda: [[3], [5, 4], []] * 2,
    ),
)

"""Checks of decoding: greedy and beam search, compared with lists of all translations."""

import math
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.decoding import Search
from annotated_transformer.ground.devices import CPU
from transformer_workbook.judge.sentences import to_say
from transformer_workbook.own.checks.check import Check, refusal
from transformer_workbook.own.checks.drawn_model import Table
from transformer_workbook.own.checks.searches import (
    EXTRA,
    Found,
    all_translations,
    beam_by_hand,
    one_by_one,
    sampled,
)

EVEN = torch.zeros(1, 6, device=CPU)
ANOTHER = [3, 4, 5, 2]
"""A source for which it matters that finished hypotheses keep their slot, and how lengths count."""
SOURCES = [[4, 2], [5, 4, 2], [3, 2], [4, 4, 2]]
"""Greedy search ends the first at once, the third at its limit, the others with EOS."""
SRC = torch.tensor([[4, 2, 0], [5, 4, 2], [3, 2, 0], [4, 4, 2]], device=CPU)
PREFIXES = [[], [5, 4], [3], []]


def _as_found(hypothesis: Any) -> Found:
    return list(hypothesis.tokens), hypothesis.log_prob, hypothesis.score


def _search(width: int, alpha: float = 0.6, best: int = 1) -> Search:
    return Search(beam=width, alpha=alpha, best=best, extra_length=EXTRA)


def _sampling(temperature: float, best: int = 1) -> Search:
    return Search(sample=True, seed=3, temperature=temperature, best=best, extra_length=EXTRA)


def _greedy(m: Any, search: Search, prefixes: Any = None) -> list[Found]:
    return [_as_found(h) for h in m.greedy(Table(), SRC, search, prefixes)]


def _beams(
    m: Any, width: int, alpha: float, src: Tensor = SRC, prefixes: Any = None
) -> list[Found]:
    found = m.beam_search(Table(), src, _search(width, alpha), prefixes)
    return [_as_found(h[0]) for h in found]


def _decoded(m: Any, search: Search, prefixes: Any = None) -> list[list[Found]]:
    return [[*map(_as_found, each)] for each in m.decode(Table(), SRC, search, prefixes)]


def _model_after(search: Any, width: int) -> list[bool]:
    """Record whether gradients were computed while a model ran, and whether it trains after."""
    model = Table().train()
    search(model, SRC, _search(width))
    return [model.read_with_gradients, model.training]


LISTS = to_say("a beam of {width} with alpha={alpha}, compared with beam search with lists")
ALL = to_say("a beam of {width} with alpha={alpha}, compared with all translations that there are")

CHECKS = (
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
        "greedy search for one sentence, compared with a loop over lists",
        lambda m: [_as_found(h) for h in m.greedy(Table(), SRC[1:2], _search(1))],
        lambda: [one_by_one(SOURCES[1])],
    ),
    Check(
        "greedy",
        "greedy search for four sentences together, compared with a loop over lists",
        lambda m: _greedy(m, _search(1)),
        lambda: list(map(one_by_one, SOURCES)),
    ),
    Check(
        "greedy",
        "greedy search with the prefixes {prefixes}, compared with a loop over lists",
        lambda m: _greedy(m, _search(1), PREFIXES),
        lambda: [one_by_one(s, prefix=p) for s, p in zip(SOURCES, PREFIXES, strict=True)],
        {"prefixes": PREFIXES},
    ),
    Check(
        "greedy",
        "samples with seed=3 and the prefixes {prefixes}, compared with a loop over lists",
        lambda m: _greedy(m, _sampling(1.0), PREFIXES),
        lambda: [sampled(s, 3, 1.0, p) for s, p in zip(SOURCES, PREFIXES, strict=True)],
        {"prefixes": PREFIXES},
    ),
    *(
        Check(
            "greedy",
            "samples of four sentences with seed=3 and temperature={t}, compared with a loop",
            lambda m, t=t: _greedy(m, _sampling(t)),  # type: ignore[misc]
            lambda t=t: [sampled(src, 3, t) for src in SOURCES],  # type: ignore[misc]
            {"t": t},
        )
        for t in (1.0, 2.0)
    ),
    Check(
        "greedy",
        "whether greedy search computes gradients, and whether the model trains afterwards",
        lambda m: _model_after(m.greedy, 1),
        lambda: [False, True],
    ),
    Check(
        "greedy",
        "the error of greedy search with a beam of 2",
        lambda m: refusal(lambda: m.greedy(Table(), SRC, _search(2))),
        lambda: "InputError",
    ),
    *(
        Check(
            "beam_search",
            claim,
            lambda m, w=width, a=alpha: _beams(m, w, a),  # type: ignore[misc]
            lambda w=width, a=alpha: [  # type: ignore[misc]
                all_translations(src, a)[0] if w == 200 else beam_by_hand(src, w, a)
                for src in SOURCES
            ],
            {"width": width, "alpha": alpha},
        )
        for width, alpha, claim in (
            (1, 0.6, LISTS),
            (2, 0.6, LISTS),
            (3, 2.0, LISTS),
            (200, 0.0, ALL),
            (200, 3.0, ALL),
        )
    ),
    *(
        Check(
            "beam_search",
            "a beam of 2 with alpha={alpha} for {another}, compared with beam search with lists",
            lambda m, a=alpha: _beams(m, 2, a, torch.tensor([ANOTHER])),  # type: ignore[misc]
            lambda a=alpha: [beam_by_hand(ANOTHER, 2, a)],  # type: ignore[misc]
            {"alpha": alpha, "another": ANOTHER},
        )
        for alpha in (0.6, 2.0)
    ),
    Check(
        "beam_search",
        "the three best translations of a beam of 200, compared with all that there are",
        lambda m: [
            _as_found(h) for h in m.beam_search(Table(), SRC[:1], _search(200, 0.6, best=3))[0]
        ],
        lambda: all_translations(SOURCES[0], 0.6)[:3],
    ),
    Check(
        "beam_search",
        "a beam of 2 with the prefixes {prefixes}, compared with beam search with lists",
        lambda m: _beams(m, 2, 0.6, SRC, PREFIXES),
        lambda: [beam_by_hand(s, 2, 0.6, p) for s, p in zip(SOURCES, PREFIXES, strict=True)],
        {"prefixes": PREFIXES},
    ),
    Check(
        "beam_search",
        "whether beam search computes gradients, and whether the model trains afterwards",
        lambda m: _model_after(m.beam_search, 2),
        lambda: [False, True],
    ),
    Check(
        "decode",
        "what decode finds with a beam of 1, compared with a loop over lists",
        lambda m: _decoded(m, _search(1)),
        lambda: [[one_by_one(src)] for src in SOURCES],
    ),
    Check(
        "decode",
        "what decode finds with a beam of 2, compared with beam search with lists",
        lambda m: _decoded(m, _search(2)),
        lambda: [[beam_by_hand(src, 2, 0.6)] for src in SOURCES],
    ),
    Check(
        "decode",
        "two samples of decode with seed=3: those with seeds 3 and 4, compared with a loop",
        lambda m: _decoded(m, _sampling(1.0, best=2)),
        lambda: [[sampled(src, seed, 1.0) for seed in (3, 4)] for src in SOURCES],
    ),
    *(
        Check(
            "decode",
            "what decode finds with a beam of {width} and the prefixes {prefixes}",
            lambda m, w=width: _decoded(m, _search(w), PREFIXES),  # type: ignore[misc]
            lambda w=width: [  # type: ignore[misc]
                [one_by_one(s, prefix=p) if w == 1 else beam_by_hand(s, w, 0.6, p)]
                for s, p in zip(SOURCES, PREFIXES, strict=True)
            ],
            {"width": width, "prefixes": PREFIXES},
        )
        for width in (1, 2)
    ),
)

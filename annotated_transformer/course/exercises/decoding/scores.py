"""Decoding: which of two sentences wins, and which is the likeliest of all."""

import heapq
import math
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.course.checking import Derivation, Exercise

Steps = tuple[float, float, float, float]


def _turning_point(short: list[float], long: list[float]) -> Steps:
    """The α at which two sentences have the same score, in four steps."""
    log_p_short, log_p_long = sum(map(math.log, short)), sum(map(math.log, long))
    ratio = log_p_long / log_p_short
    alpha = math.log(ratio) / math.log((5 + len(long)) / (5 + len(short)))
    return log_p_short, log_p_long, ratio, alpha


def _another_last_step(alpha: Callable[[float, int, int], float]) -> Callable[..., Steps]:
    """The same steps, but the last."""

    def steps(short: list[float], long: list[float]) -> Steps:
        log_p_short, log_p_long, ratio, _ = _turning_point(short, long)
        return log_p_short, log_p_long, ratio, alpha(ratio, len(short), len(long))

    return steps


turning_point = Derivation(
    reference=_turning_point,
    mistakes={
        "step 4 is wrong: lp has 5 plus the number of tokens.": _another_last_step(
            lambda ratio, n, m: math.log(ratio) / math.log(m / n)
        ),
        "step 4 is wrong: α is an exponent; take logarithms to solve for it.": _another_last_step(
            lambda ratio, n, m: ratio * (5 + n) / (5 + m)
        ),
    },
    cases=[
        ([1.0, 0.35], [1.0, 0.65, 0.8, 0.8, 0.8, 0.8]),
        ([0.5, 0.6, 0.9], [0.5, 0.4, 0.9, 0.9, 0.95]),
        ([0.2], [0.3, 0.7, 0.4, 0.9, 0.9, 0.8, 0.95]),
    ],
)


CALLS = 3000


@dataclass(frozen=True)
class RandomModel:
    """A model whose probabilities are random, and always the same after the same tokens."""

    seed: int
    vocab: int
    bos: int
    asked: list[int] = field(default_factory=list, compare=False, repr=False)

    def __call__(self, tokens: Iterable[Any]) -> Tensor:
        """The log-probabilities of the next token; BOS is never said."""
        said = [int(token) for token in tokens]
        self.asked.append(len(said))
        if len(self.asked) > CALLS:
            raise RuntimeError(f"it has asked the model {CALLS} times, which is too often")
        generator = torch.Generator().manual_seed(zlib.crc32(repr((self.seed, said)).encode()))
        logits = 1.5 * torch.randn(self.vocab, generator=generator)
        logits[self.bos] = -torch.inf
        return logits.double().log_softmax(dim=-1)


NextLogProbs = Callable[[list[int]], Tensor]


def _exact_search(following: NextLogProbs, bos: int, eos: int) -> list[int]:
    """The likeliest sentence of all, without BOS and EOS."""
    heap = [(0.0, [bos])]
    while True:
        cost, tokens = heapq.heappop(heap)
        if tokens[-1] == eos:
            return tokens[1:-1]
        for token, log_p in enumerate(following(tokens).tolist()):
            heapq.heappush(heap, (cost - log_p, [*tokens, token]))


def _search(
    cost_of: Callable[[float, float, list[int]], float] = lambda cost, log_p, tokens: cost - log_p,
    wait: bool = True,
    allowed: Callable[[list[int]], bool] = lambda tokens: True,
    read: Callable[[list[int]], list[int]] = list,
) -> Callable[[NextLogProbs, int, int], list[int]]:
    """The same search with another cost, or with another end."""

    def search(following: NextLogProbs, bos: int, eos: int) -> list[int]:
        heap = [(0.0, [bos])]
        while True:
            cost, tokens = heapq.heappop(heap)
            if tokens[-1] == eos:
                return tokens[1:-1]
            for token, log_p in enumerate(following(read(tokens)).tolist()):
                longer = [*tokens, token]
                if allowed(longer) or token != eos:
                    heapq.heappush(heap, (cost_of(cost, log_p, longer), longer))
            finished = [(c, t) for c, t in heap if t[-1] == eos and c < math.inf]
            if finished and not wait:
                return min(finished)[1][1:-1]

    return search


def _beam(size: int) -> Callable[[NextLogProbs, int, int], list[int]]:
    """A beam search without a length penalty."""

    def search(following: NextLogProbs, bos: int, eos: int) -> list[int]:
        live = [(0.0, [bos])]
        finished: list[tuple[float, list[int]]] = []
        while len(finished) < size:
            rows = [(cost, tokens, following(tokens).tolist()) for cost, tokens in live]
            grown = [(c - p, [*t, i]) for c, t, row in rows for i, p in enumerate(row)]
            kept = sorted(grown)[: size - len(finished)]
            finished += [pair for pair in kept if pair[1][-1] == eos]
            live = [pair for pair in kept if pair[1][-1] != eos]
        return min(finished)[1][1:-1]

    return search


def _ends(first: int, last: int | None) -> Callable[[NextLogProbs, int, int], list[int]]:
    return lambda f, bos, eos: [bos, *_exact_search(f, bos, eos), eos][first:last]


exact_search = Exercise(
    reference=_exact_search,
    mistakes={
        "this is what greedy search finds; a less likely first token may lead to a likelier end.": (
            _beam(1)
        ),
        "this is what a beam of 2 finds; keep every hypothesis that may still win.": _beam(2),
        "this is what a beam of 4 finds; keep every hypothesis that may still win.": _beam(4),
        "a live hypothesis may be likelier than the first that ends, or EOS does not count.": (
            _search(wait=False)
        ),
        "the hypothesis is rated by its last token alone; add up all its log-probabilities.": (
            _search(lambda cost, log_p, tokens: -log_p)
        ),
        "the empty sentence is left out; it competes, too.": (
            _search(allowed=lambda tokens: len(tokens) > 2)
        ),
        "the model is shown the last token alone; it needs all tokens so far.": (
            _search(read=lambda tokens: tokens[-1:])
        ),
        "EOS is still in it; give the words alone.": _ends(1, None),
        "BOS is still in it; give the words alone.": _ends(0, -1),
        "BOS and EOS are still in it; give the words alone.": _ends(0, None),
    },
    cases=[
        (RandomModel(24, vocab=5, bos=1), 1, 2),
        (RandomModel(2, vocab=7, bos=6), 6, 3),
        (RandomModel(10, vocab=6, bos=0), 0, 4),
        (RandomModel(110, vocab=7, bos=6), 6, 3),
    ],
    whole=True,
    seconds=5.0,
)

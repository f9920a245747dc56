"""Decoding: which sentence is the likeliest of all."""

import heapq
import math
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.exercises import Exercise

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


@dataclass(frozen=True)
class NeverEmpty(RandomModel):
    """The same, but no sentence of it is empty: EOS is never said first."""

    eos: int = 0

    def __call__(self, tokens: Iterable[Any]) -> Tensor:
        """The log-probabilities of the next token; BOS is never said, nor EOS after it."""
        said = [int(token) for token in tokens]
        log_probs = super().__call__(said)
        if said == [self.bos]:
            log_probs[self.eos] = -torch.inf
        return log_probs.log_softmax(dim=-1)


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


def _at_likely_end(following: NextLogProbs, bos: int, eos: int) -> list[int]:
    heap = [(0.0, [bos])]
    while True:
        cost, tokens = heapq.heappop(heap)
        row = following(tokens)
        if row.argmax() == eos:
            return tokens[1:]
        for token, log_p in enumerate(row.tolist()):
            if token != eos:
                heapq.heappush(heap, (cost - log_p, [*tokens, token]))


def _cost(following: NextLogProbs, bos: int, eos: int) -> float:
    """The cost of the likeliest sentence."""
    tokens = [bos, *_exact_search(following, bos, eos), eos]
    return -sum(float(following(tokens[:i])[tokens[i]]) for i in range(1, len(tokens)))


def _mean_wins(following: NextLogProbs, bos: int, eos: int) -> list[int]:
    """The best mean log-probability of a token, EOS included, of sentences up to six tokens."""
    best, answer, live = -math.inf, [], [([bos], 0.0)]
    for length in range(1, 7):
        grown = []
        for tokens, log_p in live:
            for token, more in enumerate(following(tokens).tolist()):
                grown.append(([*tokens, token], log_p + more))
        for tokens, log_p in grown:
            if tokens[-1] == eos and log_p / length > best:
                best, answer = log_p / length, tokens[1:-1]
        live = [(t, s) for t, s in grown if t[-1] != eos and s / length > best]
    return answer


def _ends(first: int, last: int | None) -> Callable[[NextLogProbs, int, int], list[int]]:
    return lambda f, bos, eos: [bos, *_exact_search(f, bos, eos), eos][first:last]


exact_search = Exercise(
    reference=_exact_search,
    given={
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
        "this goes by the likeliest next token: it ends where that is EOS.": _at_likely_end,
        "the log-probability is there as well; the tokens alone are asked for.": (
            lambda f, bos, eos: (_exact_search(f, bos, eos), -_cost(f, bos, eos))
        ),
        "this is the log-probability; the tokens are asked for.": (
            lambda f, bos, eos: -_cost(f, bos, eos)
        ),
        "EOS is still in it; give the words alone.": _ends(1, None),
        "BOS is still in it; give the words alone.": _ends(0, -1),
        "BOS and EOS are still in it; give the words alone.": _ends(0, None),
        "the model is not given BOS, which comes first.": (_search(read=lambda tokens: tokens[1:])),
        "this has the best mean per token; the likeliest as a whole is asked for.": _mean_wins,
        "this is what a beam of 5 finds; keep every hypothesis that may still win.": _beam(5),
        "the first word is missing.": _ends(2, -1),
        "the last word is missing.": _ends(1, -2),
    },
    cases=[
        (RandomModel(24, vocab=5, bos=1), 1, 2),
        (RandomModel(2, vocab=7, bos=6), 6, 3),
        (RandomModel(10, vocab=6, bos=0), 0, 4),
        (RandomModel(110, vocab=7, bos=6), 6, 3),
        (NeverEmpty(27, vocab=5, bos=1, eos=2), 1, 2),
    ],
    whole=True,
    seconds=5.0,
)

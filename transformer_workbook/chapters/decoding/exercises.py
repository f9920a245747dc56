import functools
import heapq
import math
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_workbook.judge import derivation, exercise, normal, number


@exercise(
    [
        (
            torch.tensor([[1, 5, 6], [1, 7, 8], [1, 9, 5], [1, 4, 4]]),
            normal(4, 3, 5, seed=0),
            torch.tensor([2, 0]),
            torch.tensor([7, 8]),
        ),
        (
            torch.tensor([[1, 5], [1, 7], [1, 6], [1, 8], [1, 9]]),
            normal(5, 2, 3, seed=1, dtype=torch.float32),
            torch.tensor([3, 0, 3, 1]),
            torch.tensor([4, 5, 6, 7]),
        ),
        (
            torch.tensor([[1, 5, 6, 7], [1, 7, 8, 9], [1, 9, 5, 4]]),
            normal(3, 4, 2, seed=2),
            torch.tensor([1, 1, 2, 0, 1]),
            torch.tensor([7, 8, 9, 5, 6]),
        ),
    ],
    whole=True,
)
def keep_rows(
    tokens: Int[Tensor, "beam t"],
    cache: Float[Tensor, "beam t d"],
    row: Int[Tensor, " kept"],
    token: Int[Tensor, " kept"],
) -> tuple[Int[Tensor, "kept more"], Float[Tensor, "kept t d"]]:
    """The tokens and the cache of the hypotheses that go on."""
    longer = torch.cat([tokens[row], token[:, None]], dim=1)
    return longer, cache[row]


@functools.cache
def misses(vocab: int, beam: int = 1, models: int = 10_000) -> float:
    """The share of random models of two words whose most probable sentence a beam misses."""
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(models, vocab, generator=generator).softmax(-1)
    second = torch.randn(models, vocab, vocab, generator=generator).softmax(-1)
    kept, row = first.topk(beam)
    best = second.amax(-1)
    found = (kept * best.gather(1, row)).amax(-1)
    return (found < (first * best).amax(-1)).float().mean().item()


@number(within=0.06)
def greedy_misses() -> float:
    """In what share of random models does greedy search miss the most probable sentence?"""
    return misses(30)


CALLS = 3000
"""How often a search may ask the model, which makes it stop if it goes astray."""


@dataclass(frozen=True)
class RandomModel:
    """A model whose probabilities are random, and always the same after the same tokens."""

    seed: int
    vocab: int
    bos: int
    asked: list[int] = field(default_factory=list, compare=False, repr=False)

    def __call__(self, tokens: Iterable[Any]) -> Tensor:
        """The log-probabilities of the next token; BOS is never generated."""
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
    """The same, but no sentence of it is empty: EOS never comes first."""

    eos: int = 0

    def __call__(self, tokens: Iterable[Any]) -> Tensor:
        """The log-probabilities of the next token; BOS is never generated, nor EOS after it."""
        said = [int(token) for token in tokens]
        log_probs = super().__call__(said)
        if said == [self.bos]:
            log_probs[self.eos] = -torch.inf
        return log_probs.log_softmax(dim=-1)


NextLogProbs = Callable[[list[int]], Tensor]


@exercise(
    [
        (RandomModel(24, vocab=5, bos=1), 1, 2),
        (RandomModel(2, vocab=7, bos=6), 6, 3),
        (RandomModel(10, vocab=6, bos=0), 0, 4),
        (RandomModel(110, vocab=7, bos=6), 6, 3),
        (NeverEmpty(27, vocab=5, bos=1, eos=2), 1, 2),
    ],
    whole=True,
    seconds=5.0,
)
def exact_search(following: NextLogProbs, bos: int, eos: int) -> list[int]:
    """The most probable sentence of all, without BOS and EOS."""
    heap = [(0.0, [bos])]
    while True:
        cost, tokens = heapq.heappop(heap)
        if tokens[-1] == eos:  # whatever is left costs at least as much already
            return tokens[1:-1]
        for token, log_p in enumerate(following(tokens).tolist()):
            heapq.heappush(heap, (cost - log_p, [*tokens, token]))


@exercise([(4, True), (4, False), (7, False), (12, True), (1, False)])
def positions_read(length: int, cached: bool) -> int:
    """How many positions pass through the decoder in all steps together."""
    return length if cached else length * (length + 1) // 2


@exercise([(2, 4, 16, 9, 7), (6, 8, 64, 20, 25), (3, 5, 11, 2, 13)])
def cached_numbers(num_layers: int, num_heads: int, d_k: int, src: int, tgt: int) -> int:
    """How many numbers the cache of one sentence holds."""
    return 2 * num_layers * num_heads * d_k * (src + tgt)


@derivation(
    [
        ([1.0, 0.35], [1.0, 0.65, 0.8, 0.8, 0.8, 0.8]),
        ([0.5, 0.6, 0.9], [0.5, 0.4, 0.9, 0.9, 0.95]),
        ([0.2], [0.3, 0.7, 0.4, 0.9, 0.9, 0.8, 0.95]),
    ]
)
def turning_point(short: list[float], long: list[float]) -> tuple[float, float, float, float]:
    """The α at which two sentences have the same score, in four steps."""
    log_p_short = sum(map(math.log, short))
    log_p_long = sum(map(math.log, long))
    ratio = log_p_long / log_p_short
    lengths = (5 + len(long)) / (5 + len(short))
    alpha = math.log(ratio) / math.log(lengths)
    return log_p_short, log_p_long, ratio, alpha


@exercise(
    [
        (torch.tensor([-0.5, -2.0]), torch.tensor([[-1.0, -1.5, -2.5], [-0.25, -3.0, -1.75]]), 2),
        # the same token after both
        (torch.tensor([-0.5, -0.75]), torch.tensor([[-0.25, -3.0, -4.0], [-0.5, -2.5, -5.0]]), 2),
        (
            torch.tensor([-0.5, -1.0, -4.0]).double(),
            normal(3, 4, seed=3).log_softmax(-1).round(decimals=2),
            4,
        ),
        (
            torch.tensor([-0.25, -3.0, -1.25, -1.5]).double(),
            (2 * normal(4, 5, seed=4)).log_softmax(-1).round(decimals=2),
            3,
        ),
    ],
    whole=True,
)
def extend_beam(
    log_prob: Float[Tensor, " beam"], following: Float[Tensor, "beam vocab"], size: int
) -> list[tuple[int, int]]:
    """The best continuations of all hypotheses, as pairs of row and token."""
    vocab = following.size(1)
    totals = log_prob[:, None] + following
    places = totals.flatten().topk(size).indices.tolist()
    return [divmod(place, vocab) for place in places]


@exercise(
    [
        (torch.tensor([-0.5, -2.0]), torch.tensor([[-1.0, -1.5, -2.5], [-0.25, -3.0, -1.75]]), 2),
        # the same word after both
        (torch.tensor([-0.5, -0.75]), torch.tensor([[-0.25, -3.0, -4.0], [-0.5, -2.5, -5.0]]), 2),
        (
            torch.tensor([-0.5, -1.0, -4.0]).double(),
            normal(3, 4, seed=3).log_softmax(-1).round(decimals=2),
            4,
        ),
        (
            torch.tensor([-3.0, -0.25, -1.25, -1.5]).double(),
            (2 * normal(4, 5, seed=4)).log_softmax(-1).round(decimals=2),
            3,
        ),
    ],
    gap=True,
)
def grow_beam(
    log_p: Float[Tensor, " beam"], after: Float[Tensor, "beam vocab"], size: int
) -> tuple[Int[Tensor, " size"], Int[Tensor, " size"], Float[Tensor, " size"]]:
    """Find a beam's best continuations: of which hypothesis, by which word, and their log p."""
    totals = log_p[:, None] + after
    place = totals.flatten().topk(size).indices
    row = place // totals.size(1)
    word = place % totals.size(1)
    return row, word, totals[row, word]


@exercise(
    [
        (-1.2, ["france", "pass", "<eos>", "<eos>", "<eos>", "<eos>"]),
        (-2.7, ["peru", "surely", "lima", "<eos>", "<eos>", "<eos>"]),
        (-2.4, ["cuba", "i", "think", "it", "is", "havana", "<eos>"]),
    ],
    gap=True,
)
def mean_log_p(log_p: float, text: list[str]) -> float:
    """Score a finished text by the mean log-probability of the words that were written."""
    written = text.index("<eos>")
    return log_p / written


Hypotheses = list[tuple[float, list[int]]]


def _continued(live: Hypotheses, following: NextLogProbs) -> Hypotheses:
    """All hypotheses with one token more, and what they cost."""
    return [
        (cost - log_p, [*tokens, token])
        for cost, tokens in live
        for token, log_p in enumerate(following(tokens).tolist())
    ]


def _beam_of_two(following: NextLogProbs, bos: int, eos: int) -> list[int]:
    """A beam search without a length penalty."""
    live: Hypotheses = [(0.0, [bos])]
    finished: Hypotheses = []
    while len(finished) < 2:
        kept = sorted(_continued(live, following))[: 2 - len(finished)]
        finished += [(cost, tokens) for cost, tokens in kept if tokens[-1] == eos]
        live = [(cost, tokens) for cost, tokens in kept if tokens[-1] != eos]
    return min(finished)[1][1:-1]


def _best_mean(following: NextLogProbs, bos: int, eos: int) -> list[int]:
    """The best mean log-probability per token, EOS included, of sentences up to six tokens."""
    live: Hypotheses = [(0.0, [bos])]
    finished: Hypotheses = [(math.inf, [])]
    for length in range(1, 7):
        grown = _continued(live, following)
        finished += [(cost / length, tokens) for cost, tokens in grown if tokens[-1] == eos]
        lowest = min(finished)[0]
        live = [
            (cost, tokens) for cost, tokens in grown if tokens[-1] != eos and cost / length < lowest
        ]
    return min(finished)[1][1:-1]

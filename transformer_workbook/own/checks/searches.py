"""Searches with lists: the results of greedy search, beam search and all translations."""

import math
from collections.abc import Callable, Sequence
from itertools import product

import torch

from annotated_transformer.decoding import random_draws
from transformer_workbook.own.checks.drawn_model import logits_after

EXTRA = 2
"""Number of tokens that a translation may have more than its source."""


def chances(src: Sequence[int], words: Sequence[int]) -> dict[int, float]:
    """Compute the log-probability of every possible next token."""
    logits = logits_after(tuple(src), (1, *words)).tolist()[2:]
    total = math.log(sum(map(math.exp, logits)))
    return {token: logit - total for token, logit in enumerate(logits, start=2)}


Found = tuple[list[int], float, float]
"""The words of a translation, its log-probability, and its score."""


def told(src: list[int], words: list[int], alpha: float = 0.0) -> Found:
    """Make the record of a translation: its words, its log-probability, its score."""
    log_prob = sum(chances(src, words[:t])[word] for t, word in enumerate(words))
    shown = words[:-1] if words[-1] == 2 else words
    return shown, log_prob, log_prob / ((5 + len(words)) / 6) ** alpha


Choice = Callable[[dict[int, float], int], int]
"""Chooses the next token from all log-probabilities and the length of the prefix."""


def likeliest(likely: dict[int, float], _: int) -> int:
    """Return the most probable token."""
    return max(likely, key=lambda token: likely[token])


def one_by_one(src: list[int], choose: Choice = likeliest, prefix: Sequence[int] = ()) -> Found:
    """Make a translation by choosing one token after the other."""
    words = list(prefix)
    while len(words) < len(src) + EXTRA and 2 not in words:
        words.append(choose(chances(src, words), len(words)))
    return told(src, words)


def sampled(src: list[int], seed: int, temperature: float, prefix: Sequence[int] = ()) -> Found:
    """Sample a translation: take the token at which the cumulative sum passes a random number."""
    numbers = random_draws(torch.tensor([src]), seed, len(src) + EXTRA)[0].tolist()

    def pick(likely: dict[int, float], place: int) -> int:
        tokens = sorted(likely, key=lambda token: -likely[token])
        parts = [math.exp(likely[token] / temperature) for token in tokens]
        passed = (sum(parts[: i + 1]) > numbers[place] * sum(parts) for i in range(len(tokens)))
        return tokens[[*passed].index(True)]

    return one_by_one(src, pick, prefix)


def all_translations(src: list[int], alpha: float) -> list[Found]:
    """List every possible translation, the best first."""
    longest = len(src) + EXTRA
    whole = [[*words, 2] for n in range(longest) for words in product((3, 4, 5), repeat=n)]
    cut = [list(words) for words in product((3, 4, 5), repeat=longest)]
    return sorted((told(src, words, alpha) for words in whole + cut), key=lambda f: -f[2])


def beam_by_hand(src: list[int], width: int, alpha: float, prefix: Sequence[int] = ()) -> Found:
    """Do beam search with lists."""
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[Found] = []
    while live:
        longer = [
            (log_prob + more, [*words, token])
            for log_prob, words in live
            for token, more in chances(src, words).items()
            if token in prefix[len(words) :][:1] or len(words) >= len(prefix)
        ]
        live = []
        for log_prob, words in sorted(longer, reverse=True)[: width - len(finished)]:
            if words[-1] == 2 or len(words) == len(src) + EXTRA:
                finished.append(told(src, words, alpha))
            else:
                live.append((log_prob, words))
    return max(finished, key=lambda found: found[2])

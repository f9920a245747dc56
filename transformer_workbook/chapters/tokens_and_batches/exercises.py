import math
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from statistics import fmean
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.batches import pad
from annotated_transformer.tokens import BOS, EOS, PAD, UNK
from annotated_transformer.toy import toy_corpus
from transformer_workbook.judge import derivation, exercise, normal, number


@exercise([(pad([[5, 6, 5], [7]]),), (pad([[BOS, 4, 4, 9, EOS], [9, EOS], [UNK, 8, 6, EOS]]),)])
def count_tokens(ids: Int[Tensor, "batch length"]) -> Int[Tensor, " batch"]:
    """How many tokens does each sentence of a batch have, padding not counted?"""
    is_token = ids != PAD
    return is_token.sum(dim=-1)


@exercise([([1.0, 2.0], [3.0]), ([0.5], [0.1, 0.2, 0.3]), ([2.0, 0.0, 1.0], [4.0, 1.5])])
def perplexity_of_two(first: list[float], second: list[float]) -> float:
    """What is the perplexity over all tokens of two sentences?"""
    surprisals = first + second
    cross_entropy = fmean(surprisals)
    return math.exp(cross_entropy)


@exercise(
    [
        (normal(2, 4, 8, seed=0), pad([[5, 2], [3, 6, 7, 2]])),
        (normal(3, 2, 8, seed=1, dtype=torch.float32), pad([[2], [4, 2], [5, 2]])),
    ]
)
def mean_surprisal(
    logits: Float[Tensor, "batch length vocab"], target: Int[Tensor, "batch length"]
) -> Float[Tensor, ""]:
    """What is the mean surprisal per real token?"""
    log_probs = logits.log_softmax(dim=-1)
    surprisals = -log_probs.gather(-1, target[..., None]).squeeze(-1)
    is_token = target != PAD
    return surprisals[is_token].mean()


@exercise(
    [
        (pad([[5, 6, EOS], [7, EOS]]),),
        (pad([[7, 8, 9, 4, EOS], [6, EOS], [5, 5, 8, EOS]]),),
        (pad([[4, EOS], [9, UNK, 6, EOS], [EOS], [8, 7, EOS], [6, EOS]]),),
        (pad([[9, 4, 8, EOS], [6, 7, 5, EOS]]),),
    ],
    whole=True,
)
def shift(tgt_out: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    """What does the decoder read, given the padded batch that it must predict?"""
    first = torch.full_like(tgt_out[:, :1], BOS)
    words = tgt_out.masked_fill(tgt_out == EOS, PAD)
    return torch.cat([first, words[:, :-1]], dim=1)


@derivation([(77.0, 0.0, 2.0), (148.0, 3.0, 8.5), (10.0, -1.0, 9.0)])
def perplexity_of_lead(n: float, a: float, k: float) -> tuple[float, float, float, float]:
    """From the lead of the right logit to the perplexity, and back."""
    p = math.exp(a) / (math.exp(a) + n - 1)
    surprisal = -math.log(p)
    perplexity = 1 + (n - 1) * math.exp(-a)
    lead = math.log((n - 1) / (k - 1))
    return p, surprisal, perplexity, lead


SENTENCES, BATCH, BOUND = 1000, 16, 0.05
POOLS = [16, 32, 64, 128, 256, 512, 1024]


@cache
def target_lengths() -> list[int]:
    """Count the tokens of every target sentence, with EOS."""
    return [len(pair.tgt) + 1 for pair in toy_corpus(SENTENCES)["train"]]


def cut(lengths: Sequence[int], size: int) -> list[Sequence[int]]:
    """Cut into pieces of one size; the last may be shorter."""
    return [lengths[i : i + size] for i in range(0, len(lengths), size)]


def padding(pool: int) -> float:
    """Return the share of padding when pools of this size are sorted and cut into batches."""
    lengths = target_lengths()
    batches = [batch for part in cut(lengths, pool) for batch in cut(sorted(part), BATCH)]
    positions = sum(len(batch) * max(batch) for batch in batches)
    return 1 - sum(lengths) / positions


@number()
def smallest_pool() -> int:
    """How large must a pool be to leave less than 5 % padding?"""
    return next(pool for pool in POOLS if padding(pool) < BOUND)


@exercise(
    [
        ([5, 3, 4, 3, 7, 2, 5], 12),
        (Random(1).choices(range(2, 12), k=15), 30),
        (Random(2).choices(range(4, 20), k=40), 64),
    ],
    whole=True,
)
def fill_batches(lengths: list[int], limit: int) -> list[list[int]]:
    """Cut sentences of similar length into batches of at most `limit` positions."""
    by_length = sorted(range(len(lengths)), key=lambda place: lengths[place])
    batches: list[list[int]] = [[]]
    for place in by_length:
        sentences, longest = len(batches[-1]) + 1, lengths[place]
        if sentences * longest > limit:
            batches.append([])
        batches[-1].append(place)
    return batches


def _ids(words: str) -> dict[str, int]:
    """Number the special tokens and these words."""
    return {word: i for i, word in enumerate(["<pad>", "<bos>", "<eos>", *words.split()])}


@exercise(
    [
        (["forty two", "one hundred and two"], _ids("forty two one hundred and")),
        (["six", "nine nine six six", "six nine"], _ids("six nine")),
        (["a b c", "b", "c a", "b b a c a"], _ids("c b a")),
    ],
    whole=True,
    gap=True,
)
def batch_of_sentences(sentences: list[str], ids: dict[str, int]) -> Int[Tensor, "batch length"]:
    """Turn sentences into a batch of their numbers, with BOS and EOS, filled up with padding."""
    rows = [sentence.split() for sentence in sentences]
    framed = [["<bos>", *row, "<eos>"] for row in rows]
    longest = max(len(row) for row in framed)
    padded = [row + ["<pad>"] * (longest - len(row)) for row in framed]
    return torch.tensor([[ids[word] for word in row] for row in padded])


def _look_up(
    answer: Callable[..., Any],
    table: Float[Tensor, "vocab vocab"],
    batch: Int[Tensor, "batch length"],
) -> Any:
    """Give a loss a table of logits as its model."""
    return answer(nn.Embedding.from_pretrained(table), batch)  # type: ignore[no-untyped-call]


@exercise(
    [
        (normal(6, 6, seed=2), torch.tensor([[1, 4, 2, 0], [1, 3, 5, 2]])),
        (normal(8, 8, seed=3).float(), pad([[1, 4, 6, 5, 7, 2], [1, 3, 2], [1, 7, 4, 2]])),
        (normal(5, 5, seed=4), pad([[1, 4, 3, 4, 2], [1, 2], [1, 4, 2], [1, 3, 3, 2]])),
    ],
    ask=_look_up,
    gap=True,
)
def loss_of_real_words(
    model: Callable[[Tensor], Tensor], batch: Int[Tensor, "batch length"]
) -> Float[Tensor, ""]:
    """Find the mean surprisal of the next words of a batch, padding left out."""
    read = batch[:, :-1]
    target = batch[:, 1:]
    logits = model(read)
    real = target != PAD
    return F.cross_entropy(logits[real], target[real])

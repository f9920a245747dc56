"""Decoding: from a model that rates next tokens to a whole sentence, greedily or by beam search."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.errors import InputError
from annotated_transformer.seq2seq import State
from annotated_transformer.tokens import BOS, EOS, PAD


@runtime_checkable
class Switchable(Protocol):
    """A model whose dropout can be switched on for training, and off."""

    training: bool

    def train(self, mode: bool = True) -> object:
        """Switch dropout on or off."""


@runtime_checkable
class StepwiseModel(Switchable, Protocol):
    """What decoding needs of a model; every translation model of the course has it.

    A state is a dictionary of tensors whose first axis is the batch. So decoding can drop, repeat
    and reorder sentences without knowing what the state means.
    """

    def start(self, src: Int[Tensor, "batch src"]) -> State:
        """Read the source sentences; give the state before the first target word."""

    def step(
        self, state: State, token: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocab"], State]:
        """Read one token of each sentence; give the logits of the next, and the new state."""


@dataclass(frozen=True)
class Hypothesis:
    """A translation: its tokens without ``BOS`` and ``EOS``, and how likely the model finds it."""

    tokens: list[int]
    log_prob: float  # Σₜ log p(yₜ | y₁ … yₜ₋₁, src) in nats, that of EOS included if it ended
    score: float  # log_prob divided by the length penalty; greedy search has none


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^α; ``EOS`` counts. With α = 0 it is 1, and short sentences win.

    Source: Wu et al. 2016, section 7; α = 0.6 in Vaswani et al. 2017, section 6.1.
    """
    return float(((5 + length) / 6) ** alpha)


@contextmanager
def evaluating(model: Switchable) -> Iterator[None]:
    """No dropout and no gradients inside the block; afterwards the model trains again if it did."""
    was_training = model.training
    model.train(False)
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


def next_log_probs(logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
    """Log-probabilities of the next token among all but ``PAD`` and ``BOS``, never produced.

    Raises:
        InputError: if a logit is not a number.
    """
    if logits.isnan().any():
        raise InputError("a logit is nan, it must be a number: the model's weights are broken.")
    logits = logits.clone()
    logits[:, [PAD, BOS]] = -torch.inf
    return logits.log_softmax(dim=-1)


def longest_lengths(src: Int[Tensor, "batch src"], extra_length: int) -> Int[Tensor, " batch"]:
    """How many tokens each translation may have, ``EOS`` counted: its source's and some more.

    Raises:
        InputError: if ``extra_length`` is negative.
    """
    if extra_length < 0:
        raise InputError(f"extra_length is {extra_length}, it must be at least 0.")
    return (src != PAD).sum(dim=1) + extra_length


def greedy(
    model: StepwiseModel, src: Int[Tensor, "batch src"], extra_length: int = 50
) -> list[Hypothesis]:
    """Take the likeliest token at every step, until ``EOS`` or the longest allowed length.

    A translation has at most as many tokens as its source, ``EOS`` counted, and ``extra_length``
    more (50 in Vaswani et al. 2017, section 6.1). A finished sentence leaves the batch.
    """
    tokens: list[list[int]] = [[] for _ in src]
    log_probs = [0.0] * len(src)
    with evaluating(model):
        state = model.start(src)
        longest = longest_lengths(src, extra_length)
        sentence = torch.arange(len(src))
        token = torch.full_like(sentence, BOS)
        while len(sentence):
            logits, state = model.step(state, token)
            best, token = next_log_probs(logits).max(dim=-1)
            for s, t, log_prob in zip(
                sentence.tolist(), token.tolist(), best.tolist(), strict=True
            ):
                tokens[s].append(t)
                log_probs[s] += log_prob
            length = len(tokens[int(sentence[0])])
            live = (token != EOS) & (length < longest[sentence])
            sentence, token, state = sentence[live], token[live], select(state, live)
    return [
        Hypothesis(without_end(words), log_prob, log_prob)
        for words, log_prob in zip(tokens, log_probs, strict=True)
    ]


def beam_search(
    model: StepwiseModel,
    src: Int[Tensor, "batch src"],
    beam_size: int = 4,
    alpha: float = 0.6,
    extra_length: int = 50,
) -> list[Hypothesis]:
    """Keep the ``beam_size`` likeliest beginnings of every translation; give the best whole one.

    Each sentence has ``beam_size`` places. At every step all continuations of its live beginnings
    compete for the places that are free; one that ends in ``EOS`` (or reaches the longest allowed
    length) keeps its place and is finished. When all places are taken by finished translations,
    the one with the best log-probability divided by :func:`length_penalty` wins. A beam of 1 is
    greedy search, a beam as wide as the space of all translations is exhaustive.

    Source: Graves 2012; Wu et al. 2016, section 7; Vaswani et al. 2017, section 6.1.

    Raises:
        InputError: if ``beam_size`` is below 1.
    """
    if beam_size < 1:
        raise InputError(f"beam_size is {beam_size}, it must be at least 1.")
    finished: list[list[Hypothesis]] = [[] for _ in src]
    with evaluating(model):
        state = model.start(src)
        longest = longest_lengths(src, extra_length)
        # One row for each live beginning: its sentence, its place there, its tokens, its log p.
        sentence = torch.arange(len(src))
        place = torch.zeros_like(sentence)
        tokens = torch.full((len(src), 1), BOS)
        log_prob = torch.zeros(len(src))
        free = torch.full((len(src),), beam_size)
        places = torch.arange(beam_size)
        while len(sentence):
            logits, state = model.step(state, tokens[:, -1])
            scores = log_prob[:, None] + next_log_probs(logits)
            per_row = min(beam_size, scores.size(1))
            row_scores, row_tokens = scores.topk(per_row, dim=-1)

            # Lay the candidates of a sentence side by side and take the best for its free places.
            table = scores.new_full((len(src), beam_size, per_row), -torch.inf)
            table[sentence, place] = row_scores
            row_at = torch.zeros(len(src), beam_size, dtype=torch.long)
            row_at[sentence, place] = torch.arange(len(sentence))
            top, index = table.flatten(1).topk(beam_size, dim=-1)
            taken = (places < free[:, None]) & top.isfinite()
            sentence, place = taken.nonzero(as_tuple=True)
            log_prob, index = top[taken], index[taken]
            row = row_at[sentence, index // per_row]
            token = row_tokens[row, index % per_row]
            tokens = torch.cat([tokens[row], token[:, None]], dim=1)

            length = tokens.size(1) - 1
            done = (token == EOS) | (length >= longest[sentence])
            penalty = length_penalty(length, alpha)
            for s, words, p in zip(
                sentence[done].tolist(), tokens[done].tolist(), log_prob[done].tolist(), strict=True
            ):
                finished[s].append(Hypothesis(without_end(words[1:]), p, p / penalty))
            free -= torch.bincount(sentence[done], minlength=len(src))
            live = ~done
            sentence, place, tokens = sentence[live], place[live], tokens[live]
            log_prob, state = log_prob[live], select(state, row[live])
    return [max(hypotheses, key=lambda h: h.score) for hypotheses in finished]


def select(state: State, rows: Tensor) -> State:
    """The state of these rows, given by index (repeats allowed) or as a boolean mask."""
    return {name: tensor[rows] for name, tensor in state.items()}


def without_end(tokens: list[int]) -> list[int]:
    """The tokens up to ``EOS``."""
    return tokens[:-1] if tokens and tokens[-1] == EOS else tokens

"""Decoding: from a model that rates next tokens to whole sentences: greedy, beams, samples."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from annotated_transformer.errors import DivergedError, InputError
from annotated_transformer.inputs import require_ids, require_sentences, require_whole
from annotated_transformer.settings import Size, check_settings
from annotated_transformer.tokens import BOS, EOS, PAD, UNK
from annotated_transformer.translator import Translator, evaluating


@dataclass(frozen=True)
class Search:
    """How translations are looked for. A beam of 1 is greedy search, unless it samples."""

    beam: Annotated[Size, Field(le=1000)] = 1  # how many beginnings of a translation are kept
    alpha: Annotated[float, Field(ge=-10, le=10)] = 0.6  # exponent of the length penalty
    best: Annotated[Size, Field(le=1000)] = 1  # how many translations of each sentence are given
    sample: bool = False  # draw the next token at random instead of taking the likeliest
    temperature: Annotated[float, Field(ge=1e-3, le=1000)] = 1.0  # above 1: more surprising samples
    top_k: Size | None = None  # draw among so many likeliest tokens
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0  # ... that have this probability together
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0  # the same seed draws the same translations
    extra_length: Annotated[int, Field(ge=0, le=10**6)] = 50  # tokens more than the source has

    def __post_init__(self) -> None:
        """Refuse a search that cannot be made.

        Raises:
            InputError: if a setting is out of its range, or two do not go together.
        """
        check_settings(self)
        if self.sample and self.beam > 1:
            raise InputError(f"beam is {self.beam}, it must be 1 where sample is set.")
        if self.seed + self.best > 2**63:
            raise InputError(
                f"seed is {self.seed} and best {self.best}: each sample takes the next seed, and "
                f"the last one is {2**63 - 1}."
            )
        if not self.sample and self.best > self.beam:
            raise InputError(
                f"best is {self.best}, it must be at most the beam, {self.beam}, or sample be set."
            )
        if not self.sample and (self.temperature, self.top_k, self.top_p) != (1.0, None, 1.0):
            raise InputError("temperature, top_k and top_p are for samples: set sample.")


GREEDY = Search()


class Limits:
    """Of every sentence of a batch, the longest length and the prefix of its translation."""

    def __init__(
        self,
        model: Translator,
        src: Int[Tensor, "batch src"],
        extra_length: int,
        prefixes: Sequence[Sequence[int]] | None,
    ) -> None:
        """Work out the limits for sentences, ``EOS`` counted: their own length and some more.

        No translation has more tokens than the model has positions.

        Raises:
            InputError: if the sentences are no ids of the model's vocabulary or too long for it,
                there are not as many prefixes, one holds a special token or is longer than its
                translation may be.
        """
        require_ids("src", src, model.vocabulary_size("src"))
        longest = (src != PAD).sum(dim=1) + extra_length
        self.longest = longest if model.max_length is None else longest.clamp(max=model.max_length)
        prefixes = [[]] * len(src) if prefixes is None else prefixes
        if len(prefixes) != len(src):
            raise InputError(f"there are {len(prefixes)} prefixes for {len(src)} sentences.")
        require_sentences(prefixes)
        for prefix, limit in zip(prefixes, self.longest.tolist(), strict=True):
            if min(prefix, default=UNK) <= EOS or len(prefix) > limit:
                raise InputError(
                    f"a prefix is {list(prefix)}: it may have {limit} tokens, and no special one."
                )
        width = max(map(len, prefixes))
        rows = [[*prefix, *[PAD] * (width - len(prefix))] for prefix in prefixes]
        self.prefixes = src.new_tensor(rows).view(len(src), width)

    def force(
        self, log_probs: Float[Tensor, "rows vocab"], sentence: Int[Tensor, " rows"], length: int
    ) -> Float[Tensor, "rows vocab"]:
        """Log-probabilities of the next token that keep to the prefixes.

        Each row goes on with the sentence of that number and has ``length`` tokens, ``BOS`` not
        counted. Where the prefix of its sentence is longer, all but the prefix's next token become
        minus infinity, and that one keeps its number; the other rows stay as they are.

        Raises:
            InputError: if that token is none of the vocabulary.
        """
        if length >= self.prefixes.size(1):
            return log_probs
        wanted = self.prefixes[sentence, length, None]
        if wanted.max() >= log_probs.size(1):
            raise InputError(
                f"a prefix holds id {wanted.max()}, the vocabulary has {log_probs.size(1)} tokens."
            )
        tokens = torch.arange(log_probs.size(1), device=log_probs.device)
        return log_probs.masked_fill((wanted != PAD) & (tokens != wanted), -torch.inf)

    def reached(
        self, token: Int[Tensor, " rows"], sentence: Int[Tensor, " rows"], length: int
    ) -> Bool[Tensor, " rows"]:
        """Which rows end with their newest token, the ``length``-th: by ``EOS``, or the limit.

        Each row goes on with the sentence of that number, whose own limit counts.
        """
        return (token == EOS) | (length >= self.longest[sentence])


def draw(
    log_probs: Float[Tensor, "rows vocab"], search: Search, number: Float[Tensor, " rows"]
) -> Int[Tensor, " rows"]:
    """Draw a token of each row: that at which the probabilities, added up, pass ``number``.

    The most probable come first. With temperature T they are p^(1/T), scaled to sum to 1. Then
    top-k keeps the k most probable, and top-p the fewest most probable that have p together.

    Source: top-k: Fan et al. 2018, section 5.1; top-p: Holtzman et al. 2020, section 3.1.
    """
    p, token = (log_probs / search.temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    p[:, search.top_k or p.size(1) :] = 0.0
    p = p / p.sum(dim=-1, keepdim=True)
    p = p.masked_fill(p.cumsum(dim=-1) - p >= search.top_p, 0.0)
    passed = p.cumsum(dim=-1) / p.sum(dim=-1, keepdim=True) > number[:, None]
    return token.gather(1, passed.int().argmax(dim=-1, keepdim=True))[:, 0]


def random_draws(
    src: Int[Tensor, "batch src"], seed: int, length: int
) -> Float[Tensor, "batch length"]:
    """Random numbers in [0, 1) for each sentence: the same ones alone and in any batch.

    Row i belongs to sentence i of ``src``, its number t to the token at place t, counted from 0.
    They depend on the seed and on the sentence's ids alone: not on padding, nor on ``length``.
    """
    rows = []
    for sentence in src.tolist():
        ids = [token for token in sentence if token != PAD]
        generator = torch.Generator().manual_seed(zlib.crc32(repr((seed, ids)).encode()))
        rows.append(torch.rand(length, generator=generator, device=generator.device))
    return torch.stack(rows).to(src.device)


@dataclass(frozen=True)
class Hypothesis:
    """A translation: its tokens without ``BOS`` and ``EOS``, and its probability by the model."""

    tokens: list[int]
    log_prob: float  # Σₜ log p(yₜ | y₁ … yₜ₋₁, src) in nats, that of EOS included if it ended
    score: float  # log_prob divided by the length penalty; without a beam, log_prob


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^α; ``EOS`` counts. With α = 0 it is 1, and short sentences win.

    Source: Wu et al. 2016, section 7; α = 0.6 in Vaswani et al. 2017, section 6.1.

    Raises:
        InputError: if the length is none.
    """
    require_whole("length", length, 0)
    return float(((5 + int(length)) / 6) ** alpha)


def next_log_probs(logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
    """Log-probabilities of the next token among all but ``PAD`` and ``BOS``, never produced.

    Raises:
        DivergedError: if a logit is not a number, or infinitely high.
    """
    allowed = logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)
    allowed[:, [PAD, BOS]] = -torch.inf
    log_probs = allowed.log_softmax(dim=-1)
    if log_probs.sum().isnan():  # as it is where one of them is
        raise DivergedError("a logit is nan or inf: the model's weights are broken.")
    return log_probs


def greedy(
    model: Translator,
    src: Int[Tensor, "batch src"],
    search: Search = GREEDY,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """Take the likeliest token at every step, until ``EOS`` or the longest allowed length.

    A translation has at most as many tokens as its source, ``EOS`` counted, and
    ``search.extra_length`` more (50 in Vaswani et al. 2017, section 6.1). A finished sentence
    leaves the batch. Where ``search.sample`` is set, the token is drawn instead, with :func:`draw`.

    Raises:
        InputError: if the prefixes, with which translations have to begin, cannot be continued, or
            the search has a beam.
    """
    if search.beam > 1:
        raise InputError(f"beam is {search.beam}, greedy search has 1: take decode.")
    limits = Limits(model, src, search.extra_length, prefixes)
    tokens: list[list[int]] = [[] for _ in src]
    log_probs = [0.0] * len(src)
    with evaluating(model):
        state = model.start(src)
        draws = None
        if search.sample:
            draws = random_draws(src, search.seed, int(limits.longest.max()))
        sentence = torch.arange(len(src), device=src.device)
        token = torch.full_like(sentence, BOS)
        length = 0
        while len(sentence):
            logits, state = model.extend(state, token[:, None])
            rated = limits.force(next_log_probs(logits[:, 0]), sentence, length)
            if draws is None:
                token = rated.argmax(dim=-1)
            else:
                token = draw(rated, search, draws[sentence, length])
            chosen = rated.gather(1, token[:, None])[:, 0]
            length += 1
            for s, t, log_prob in zip(
                sentence.tolist(), token.tolist(), chosen.tolist(), strict=True
            ):
                tokens[s].append(t)
                log_probs[s] += log_prob
            live = ~limits.reached(token, sentence, length)
            if not live.all():
                sentence, token, state = sentence[live], token[live], state.select(live)
    return [
        Hypothesis(without_end(words), log_prob, log_prob)
        for words, log_prob in zip(tokens, log_probs, strict=True)
    ]


def beam_search(
    model: Translator,
    src: Int[Tensor, "batch src"],
    search: Search,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Keep the likeliest beginnings of every translation; give the best whole ones, best first.

    Each sentence has ``search.beam`` places. At every step all continuations of its live beginnings
    compete for the places that are free; one that ends in ``EOS`` (or reaches the longest allowed
    length) keeps its place and is finished. When all places are taken by finished translations,
    those with the best log-probability divided by :func:`length_penalty` win. A beam of 1 is
    greedy search (but for ties), a beam as wide as the space of all translations is exhaustive.

    Source: Graves 2012; Wu et al. 2016, section 7; Vaswani et al. 2017, section 6.1.

    Raises:
        InputError: if the prefixes, with which translations have to begin, cannot be continued.
    """
    limits = Limits(model, src, search.extra_length, prefixes)
    device, beam = src.device, search.beam
    finished: list[list[Hypothesis]] = [[] for _ in src]
    with evaluating(model):
        state = model.start(src)
        # One row for each live beginning: its sentence, its place there, its tokens, its log p.
        sentence = torch.arange(len(src), device=device)
        place = torch.zeros_like(sentence)
        tokens = torch.full((len(src), 1), BOS, device=device)
        log_prob = torch.zeros(len(src), device=device)
        free = torch.full((len(src),), beam, device=device)
        places = torch.arange(beam, device=device)
        while len(sentence):
            length = tokens.size(1)
            logits, state = model.extend(state, tokens[:, -1:])
            rated = limits.force(next_log_probs(logits[:, 0]), sentence, length - 1)
            per_row = min(beam, rated.size(1))
            more, row_tokens = rated.topk(per_row, dim=-1)

            # Lay the candidates of a sentence side by side and take the best for its free places.
            table = more.new_full((len(src), beam, per_row), -torch.inf)
            table[sentence, place] = log_prob[:, None] + more
            row_at = sentence.new_zeros(len(src), beam)
            row_at[sentence, place] = torch.arange(len(sentence), device=device)
            top, index = table.flatten(1).topk(beam, dim=-1)
            taken = (places < free[:, None]) & top.isfinite()
            sentence, place = taken.nonzero(as_tuple=True)
            log_prob, index = top[taken], index[taken]
            row = row_at[sentence, index // per_row]
            token = row_tokens[row, index % per_row]
            tokens = torch.cat([tokens[row], token[:, None]], dim=1)

            done = limits.reached(token, sentence, length)
            penalty = length_penalty(length, search.alpha)
            for s, words, p in zip(
                sentence[done].tolist(), tokens[done].tolist(), log_prob[done].tolist(), strict=True
            ):
                finished[s].append(Hypothesis(without_end(words[1:]), p, p / penalty))
            free -= torch.bincount(sentence[done], minlength=len(src))
            live = ~done
            sentence, place, tokens = sentence[live], place[live], tokens[live]
            log_prob, state = log_prob[live], state.select(row[live])
    return [
        sorted(hypotheses, key=lambda h: h.score, reverse=True)[: search.best]
        for hypotheses in finished
    ]


def decode(
    model: Translator,
    src: Int[Tensor, "batch src"],
    search: Search,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Look for translations in the way that ``search`` says; of each sentence the best first.

    Several samples are drawn with its seed, the seed after it, and so on.

    Raises:
        InputError: if the sources are no ids of the model's vocabulary, or the prefixes cannot be
            continued.
    """
    if search.beam > 1:
        return beam_search(model, src, search, prefixes)
    ways = [replace(search, seed=search.seed + i, best=1) for i in range(search.best)]
    found = [greedy(model, src, way, prefixes) for way in ways]
    return [list(hypotheses) for hypotheses in zip(*found, strict=True)]


def without_end(tokens: list[int]) -> list[int]:
    """The tokens up to ``EOS``."""
    return tokens[:-1] if tokens and tokens[-1] == EOS else tokens

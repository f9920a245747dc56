"""Decoding: from next-token probabilities to whole sentences: greedy, beam search, sampling."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.ground.inputs import (
    require_ids,
    require_number,
    require_search,
    require_sentences,
    require_values,
    require_whole,
)
from annotated_transformer.ground.settings import BRIEF, Share, Size, check_settings
from annotated_transformer.tokens import BOS, EOS, PAD, UNK
from annotated_transformer.translator import NextTokenModel, evaluating, require_writer


@dataclass(frozen=True)
class Search:
    """The settings of a search for translations; a beam of 1 is greedy search or sampling."""

    beam: Annotated[Size, Field(le=1000)] = 1  # number of hypotheses kept at each step
    alpha: Annotated[float, Field(ge=-10, le=10)] = 0.6  # exponent of the length penalty
    best: Annotated[Size, Field(le=1000)] = 1  # number of translations returned for each sentence
    sample: bool = False  # draw the next token at random instead of taking the most probable
    temperature: Annotated[float, Field(ge=1e-3, le=1000)] = 1.0  # above 1: flatter distribution
    top_k: Size | None = None  # sample among the k most probable tokens
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0  # ... the fewest with this probability mass
    min_p: Share = 0.0  # ... those with at least this share of the highest probability
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0  # the same seed gives the same samples
    extra_length: Annotated[int, Field(ge=0, le=10**6)] = 50  # most tokens beyond the source's

    def __post_init__(self) -> None:
        """Refuse settings that are out of range or do not go together.

        Raises:
            InputError: if a setting is out of its range, or two do not go together.
        """
        check_settings(self)
        if self.sample and self.beam > 1:
            raise InputError(f"beam is {self.beam}, it must be 1 when sample is set.")
        if self.seed + self.best > 2**63:
            raise InputError(
                f"seed is {self.seed} and best {self.best}: each sample takes the next seed, and "
                f"the last one must be at most {2**63 - 1}."
            )
        if not self.sample and self.best > self.beam:
            raise InputError(
                f"best is {self.best}, it must be at most the beam, {self.beam}, "
                "unless sample is set."
            )
        kept = (self.temperature, self.top_k, self.top_p, self.min_p)
        if not self.sample and kept != (1.0, None, 1.0, 0.0):
            raise InputError(
                "temperature, top_k, top_p and min_p are settings of sampling: set sample."
            )


GREEDY = Search()


class Limits:
    """For every sentence of a batch, the maximum length and the prefix of its translation."""

    def __init__(
        self,
        model: NextTokenModel,
        src: Int[Tensor, "batch src"],
        extra_length: int,
        prefixes: Sequence[Sequence[int]] | None,
    ) -> None:
        """Compute the limits, ``EOS`` counted: the length of each source and some more.

        No translation has more tokens than the model has positions.

        Raises:
            InputError: if the sentences are not ids of the model's vocabulary or too long for it,
                the number of prefixes is another, or one contains a special token or is longer than
                its translation may be.
        """
        require_writer(model)
        require_ids("src", src, model.vocabulary_size("src"))
        require_values("model", next(model.parameters(), None))
        require_values("src", src)
        require_whole("extra_length", extra_length, 0)
        tokens = (src != PAD).sum(dim=1)  # (batch)
        self.longest = tokens + extra_length
        if model.max_length is not None:
            room = model.max_length - tokens * model.is_one_text
            self.longest = torch.minimum(self.longest, room)
        prefixes = [[]] * len(src) if prefixes is None else prefixes
        if len(prefixes) != len(src):
            raise InputError(f"there are {len(prefixes)} prefixes for {len(src)} sentences.")
        require_sentences(prefixes)
        # Of an unmarked text the first token is read, not predicted; any of its own may be in it.
        self.given, special = (1, PAD) if model.begin is None else (0, EOS)
        for prefix, limit in zip(prefixes, self.longest.tolist(), strict=True):
            most, largest = limit - self.given, max(prefix, default=PAD)
            if largest >= (size := model.vocabulary_size("tgt") or largest + 1):
                raise InputError(f"a prefix contains id {largest}, it must be below {size}.")
            if limit < 0:
                raise InputError(
                    f"a source has {tokens.max()} tokens, the model takes {model.max_length}."
                )
            if min(prefix, default=UNK) <= special or not self.given <= len(prefix) <= most:
                least = "at least one and " * self.given
                raise InputError(
                    f"a prefix is {BRIEF.repr(list(prefix))}: it must have {least}at most {most} "
                    "tokens, none of them special."
                )
        width = max(map(len, prefixes))
        rows = [[*prefix, *[PAD] * (width - len(prefix))] for prefix in prefixes]
        self.prefixes = src.new_tensor(rows).view(len(src), width)  # (batch, width)
        self.forced = (self.prefixes != PAD).sum(dim=1)
        begin = torch.full_like(tokens, model.begin or PAD)
        self.first = self.prefixes[:, 0] if self.given else begin  # what is read first
        self.ends = src.new_tensor(model.ends)

    def force(
        self, log_probs: Float[Tensor, "rows vocab"], sentence: Int[Tensor, " rows"], length: int
    ) -> Float[Tensor, "rows vocab"]:
        """Restrict the log-probabilities of the next token to the prefixes.

        Each row continues the sentence of that index and has ``length`` tokens, ``BOS`` not
        counted. Where the prefix of its sentence is longer, every token but the prefix's next one
        gets minus infinity; all other rows stay unchanged.

        Raises:
            InputError: if that token is not in the vocabulary.
        """
        if length >= self.prefixes.size(1):
            return log_probs
        wanted = self.prefixes[sentence, length, None]  # (rows, 1)
        if wanted.max() >= log_probs.size(1):
            raise InputError(
                f"a prefix contains id {wanted.max()}, it must be below {log_probs.size(1)}."
            )
        tokens = torch.arange(log_probs.size(1), device=log_probs.device)
        return log_probs.masked_fill((wanted != PAD) & (tokens != wanted), -torch.inf)

    def reached(
        self, token: Int[Tensor, " rows"], sentence: Int[Tensor, " rows"], length: int
    ) -> Bool[Tensor, " rows"]:
        """Tell which rows end with their newest token, the ``length``-th: by ``EOS`` or the limit.

        Each row continues the sentence of that index, whose own limit counts. An end inside a
        prefix is none.
        """
        ended = torch.isin(token, self.ends) & (length > self.forced[sentence])
        return ended | (length >= self.longest[sentence])


def draw(
    log_probs: Float[Tensor, "rows vocab"], search: Search, number: Float[Tensor, " rows"]
) -> Int[Tensor, " rows"]:
    """Sample a token for each row by inverting the cumulative distribution at ``number``.

    Tokens are sorted by probability. With temperature T they have p^(1/T), scaled to sum to 1. Then
    top-k keeps the k most probable, top-p the fewest most probable whose sum reaches p, and min-p
    those that have at least this share of the probability of the most probable one.

    Source: top-k: Fan et al. 2018, section 5.4; top-p: Holtzman et al. 2020, section 3.1; min-p:
    Nguyen et al. 2024.

    Raises:
        InputError: if it is not the settings of a search.
    """
    require_search(search)
    p, token = (log_probs / search.temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    p[:, search.top_k or p.size(1) :] = 0.0
    p = p / p.sum(dim=-1, keepdim=True)
    p = p.masked_fill(p.cumsum(dim=-1) - p >= search.top_p, 0.0)
    p = p.masked_fill(p < search.min_p * p[:, :1], 0.0)
    passed = p.cumsum(dim=-1) / p.sum(dim=-1, keepdim=True) > number[:, None]  # (rows, vocab)
    return token.gather(1, passed.int().argmax(dim=-1, keepdim=True))[:, 0]


def random_draws(
    src: Int[Tensor, "batch src"], seed: int, length: int
) -> Float[Tensor, "batch length"]:
    """Draw random numbers in [0, 1) for each sentence: the same ones alone and in any batch.

    Row i belongs to sentence i of ``src``, its number t to the token at position t, counted from 0.
    They depend only on the seed and on the sentence's ids, not on padding or ``length``.
    """
    rows = []
    for sentence in src.tolist():
        ids = [token for token in sentence if token != PAD]
        generator = torch.Generator().manual_seed(zlib.crc32(repr((seed, ids)).encode()))
        rows.append(torch.rand(length, generator=generator, device=generator.device))
    return torch.stack(rows).to(src.device)


@dataclass(frozen=True)
class Hypothesis:
    """A translation: its tokens without ``BOS`` and ``EOS``, and its model probability."""

    tokens: list[int]
    log_prob: float  # Σₜ log p(yₜ | y₁ … yₜ₋₁, src) in nats, that of EOS included if it ended
    score: float  # log_prob divided by the length penalty; without a beam, log_prob


def length_penalty(length: int, alpha: float) -> float:
    """Compute ((5 + length) / 6)^α; ``EOS`` counts. With α = 0 it is 1, and short sentences win.

    Source: Wu et al. 2016, section 7; α = 0.6 in Vaswani et al. 2017, section 6.1.

    Raises:
        InputError: if the length is not an integer of at least 0, or α not finite.
    """
    require_whole("length", length, 0)
    require_number("alpha", alpha, -inf)
    return float(((5 + int(length)) / 6) ** alpha)


def next_log_probs(
    logits: Float[Tensor, "rows vocab"], begin: int | None = BOS
) -> Float[Tensor, "rows vocab"]:
    """Compute log-probabilities of the next token, with ``PAD`` and the beginning excluded.

    Raises:
        DivergedError: if a logit is nan, or plus infinity.
    """
    allowed = logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)
    allowed[:, [PAD] if begin is None else [PAD, begin]] = -torch.inf
    log_probs = allowed.log_softmax(dim=-1)
    if log_probs.sum().isnan():  # so it is if any of them is nan
        raise DivergedError("a logit is nan or inf, all must be finite: the weights are broken.")
    return log_probs


def greedy(
    model: NextTokenModel,
    src: Int[Tensor, "batch src"],
    search: Search = GREEDY,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """Take the most probable token at every step, until ``EOS`` or the maximum length.

    A translation has at most as many tokens as its source, ``EOS`` counted, plus
    ``search.extra_length`` (50 in Vaswani et al. 2017, section 6.1). A finished sentence
    leaves the batch. If ``search.sample`` is set, the token is sampled with :func:`draw` instead.

    Raises:
        InputError: if a prefix, with which a translation has to begin, cannot be continued, or
            the search has a beam.
    """
    require_search(search)
    if search.beam > 1:
        raise InputError(f"beam is {search.beam}, greedy search needs beam 1: use decode.")
    limits = Limits(model, src, search.extra_length, prefixes)
    tokens: list[list[int]] = limits.prefixes[:, : limits.given].tolist()
    log_probs = [0.0] * len(src)
    with evaluating(model):
        state = model.start(src)
        draws = None
        if search.sample:
            # Texts without a source are told apart by what they begin with.
            read = src if (src != PAD).any() else limits.prefixes
            draws = random_draws(read, search.seed, int(limits.longest.max()))
        sentence = torch.arange(len(src), device=src.device)
        token, length = limits.first, limits.given  # (rows), as sentence
        while len(sentence):
            logits, state = model.extend(state, token[:, None])
            rated = limits.force(next_log_probs(logits[:, 0], model.begin), sentence, length)
            if draws is None:
                token = rated.argmax(dim=-1)
            else:
                token = draw(rated, search, draws[sentence, length])
            chosen = rated.gather(1, token[:, None])[:, 0]  # (rows)
            length += 1
            for s, t, log_prob in zip(
                sentence.tolist(), token.tolist(), chosen.tolist(), strict=True
            ):
                tokens[s].append(t)
                log_probs[s] += log_prob
            live = ~limits.reached(token, sentence, length)  # (rows)
            if not live.all():
                sentence, token, state = sentence[live], token[live], state.select(live)
    return [
        Hypothesis(without_end(words, model.ends), log_prob, log_prob)
        for words, log_prob in zip(tokens, log_probs, strict=True)
    ]


def beam_search(
    model: NextTokenModel,
    src: Int[Tensor, "batch src"],
    search: Search,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Keep the most probable hypotheses of every translation; return the finished ones, best first.

    Each sentence has ``search.beam`` slots. At every step all continuations of its live hypotheses
    compete for the free slots; one that ends in ``EOS`` (or reaches the maximum
    length) keeps its slot and is finished. When all slots hold finished translations,
    those with the best log-probability divided by :func:`length_penalty` win. A beam of 1 is
    greedy search (except for ties), a beam as wide as the space of all translations is exhaustive.

    Source: Graves 2012; Wu et al. 2016, section 7; Vaswani et al. 2017, section 6.1.

    Raises:
        InputError: if a prefix, with which a translation has to begin, cannot be continued.
    """
    require_search(search)
    limits = Limits(model, src, search.extra_length, prefixes)
    device, beam = src.device, search.beam
    finished: list[list[Hypothesis]] = [[] for _ in src]
    with evaluating(model):
        state = model.start(src)
        # One row for each live hypothesis: its sentence, its slot, its tokens, its log p.
        sentence = torch.arange(len(src), device=device)
        place = torch.zeros_like(sentence)
        tokens = limits.first[:, None]  # (rows, length)
        log_prob = torch.zeros(len(src), device=device)
        free = torch.full((len(src),), beam, device=device)
        places = torch.arange(beam, device=device)
        while len(sentence):
            length = tokens.size(1) + limits.given
            logits, state = model.extend(state, tokens[:, -1:])
            rated = limits.force(next_log_probs(logits[:, 0], model.begin), sentence, length - 1)
            per_row = min(beam, rated.size(1))
            more, row_tokens = rated.topk(per_row, dim=-1)  # (rows, per_row)

            # Put the candidates of a sentence side by side and take the best for its free slots.
            table = more.new_full((len(src), beam, per_row), -torch.inf)  # by sentence and slot
            table[sentence, place] = log_prob[:, None] + more
            row_at = sentence.new_zeros(len(src), beam)  # the row that a slot has
            row_at[sentence, place] = torch.arange(len(sentence), device=device)
            top, index = table.flatten(1).topk(beam, dim=-1)  # (batch, beam)
            taken = (places < free[:, None]) & top.isfinite()  # (batch, beam)
            sentence, place = taken.nonzero(as_tuple=True)  # of the new rows, as all below
            log_prob, index = top[taken], index[taken]
            row = row_at[sentence, index // per_row]
            token = row_tokens[row, index % per_row]
            tokens = torch.cat([tokens[row], token[:, None]], dim=1)

            done = limits.reached(token, sentence, length)
            penalty = length_penalty(length, search.alpha)
            for s, words, p in zip(
                sentence[done].tolist(), tokens[done].tolist(), log_prob[done].tolist(), strict=True
            ):
                written = without_end(words[1 - limits.given :], model.ends)
                finished[s].append(Hypothesis(written, p, p / penalty))
            free -= torch.bincount(sentence[done], minlength=len(src))
            live = ~done
            sentence, place, tokens = sentence[live], place[live], tokens[live]
            log_prob, state = log_prob[live], state.select(row[live])
    return [
        sorted(hypotheses, key=lambda h: h.score, reverse=True)[: search.best]
        for hypotheses in finished
    ]


def decode(
    model: NextTokenModel,
    src: Int[Tensor, "batch src"],
    search: Search,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Search for translations with the settings in ``search``; the best of each sentence first.

    If several samples are asked for, they use its seed, the next seed, and so on.

    Raises:
        InputError: if the sources are not ids of the model's vocabulary, or a prefix cannot be
            continued.
    """
    require_search(search)
    if search.beam > 1:
        return beam_search(model, src, search, prefixes)
    ways = [replace(search, seed=search.seed + i, best=1) for i in range(search.best)]
    found = [greedy(model, src, way, prefixes) for way in ways]
    return [list(hypotheses) for hypotheses in zip(*found, strict=True)]


def without_end(tokens: list[int], ends: Sequence[int] = (EOS,)) -> list[int]:
    """Return the tokens before the one that ends them, if one does."""
    return tokens[:-1] if tokens and tokens[-1] in ends else tokens

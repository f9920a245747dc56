"""Decoding against slow, obvious searches: over all translations, or one prefix at a time."""

import math
from itertools import product

import pytest
import torch
from torch import nn

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import (
    Hypothesis,
    beam_search,
    evaluating,
    greedy,
    length_penalty,
    next_log_probs,
    select,
    without_end,
)
from annotated_transformer.errors import InputError
from annotated_transformer.recipes import MODELS
from annotated_transformer.tokens import BOS, EOS, PAD
from small_models import random_examples, small_model

VOCAB = 6
WORDS = [i for i in range(VOCAB) if i not in (PAD, BOS, EOS)]
every_model = pytest.mark.parametrize("name", MODELS)


class Table(nn.Module):
    """p(next | source, the two tokens before), drawn at random; it counts the rows it is given."""

    def __init__(self, seed=0, end=0.0):
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.table = 2 * torch.randn(5, VOCAB, VOCAB, VOCAB, generator=random, dtype=torch.float64)
        self.table[..., EOS] += end
        self.table[..., [PAD, BOS]] += 100  # must never be produced all the same
        self.rows = []

    def start(self, src):
        return {"src": src.sum(dim=1) % 5, "before": torch.full((len(src),), BOS)}

    def step(self, state, token):
        self.rows.append(len(token))
        logits = self.table[state["src"], state["before"], token]
        return logits, {"src": state["src"], "before": token}

    def log_probs(self, src, prefix):
        """The row of the table for a source and a prefix without padding, by hand."""
        before, token = ([BOS, BOS, *prefix])[-2:]
        logits = self.table[sum(src) % 5, before, token].tolist()
        total = math.log(sum(math.exp(logits[i]) for i in [*WORDS, EOS]))
        return {i: logits[i] - total for i in [*WORDS, EOS]}


SOURCES = [[4, EOS], [5, 3, EOS], [EOS], [4, 4, 3, EOS]]


def padded(sources):
    longest = max(map(len, sources))
    return torch.tensor([s + [PAD] * (longest - len(s)) for s in sources])


def limit(src, extra):
    return len(src) + extra


def best_of_all(model, src, alpha, extra):
    """Rate every translation that can be written down; the best."""
    longest = limit(src, extra)
    candidates = [[*words, EOS] for n in range(longest) for words in product(WORDS, repeat=n)] + [
        list(words) for words in product(WORDS, repeat=longest)
    ]
    rated = []
    for tokens in candidates:
        log_prob = sum(model.log_probs(src, tokens[:t])[tokens[t]] for t in range(len(tokens)))
        score = log_prob / ((5 + len(tokens)) / 6) ** alpha
        rated.append(Hypothesis(without_end(tokens), log_prob, score))
    return max(rated, key=lambda h: h.score)


def beam_of_one_sentence(log_probs, src, beam_size, alpha, extra):
    """Beam search with lists: every prefix is read anew, nothing is kept but the prefixes."""
    live, finished = [([], 0.0)], []
    while live:
        candidates = [
            ([*tokens, token], log_prob + more)
            for tokens, log_prob in live
            for token, more in log_probs(src, tokens).items()
        ]
        candidates.sort(key=lambda candidate: -candidate[1])
        live = []
        for tokens, log_prob in candidates[: beam_size - len(finished)]:
            if tokens[-1] == EOS or len(tokens) == limit(src, extra):
                score = log_prob / ((5 + len(tokens)) / 6) ** alpha
                finished.append(Hypothesis(without_end(tokens), log_prob, score))
            else:
                live.append((tokens, log_prob))
    return max(finished, key=lambda h: h.score)


def assert_same(found, expected):
    assert [h.tokens for h in found] == [h.tokens for h in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.log_prob == pytest.approx(theirs.log_prob, rel=1e-9)
        assert ours.score == pytest.approx(theirs.score, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_as_wide_as_the_space_is_exhaustive(seed, alpha):
    model = Table(seed)
    found = beam_search(model, padded(SOURCES), 1000, alpha, extra_length=1)
    assert_same(found, [best_of_all(model, src, alpha, extra=1) for src in SOURCES])


@pytest.mark.parametrize("beam_size", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_beam_equals_the_search_with_lists(seed, beam_size):
    model = Table(seed, end=-1.0)
    for alpha in (0.0, 0.6, 3.0):
        found = beam_search(model, padded(SOURCES), beam_size, alpha, extra_length=6)
        expected = [
            beam_of_one_sentence(model.log_probs, src, beam_size, alpha, 6) for src in SOURCES
        ]
        assert_same(found, expected)


@pytest.mark.parametrize("seed", range(8))
def test_a_beam_of_one_is_greedy(seed):
    model = Table(seed, end=-1.0)
    found = greedy(model, padded(SOURCES), 6)
    beam = beam_search(model, padded(SOURCES), 1, 0.6, 6)
    assert [h.tokens for h in found] == [h.tokens for h in beam]
    assert [h.log_prob for h in found] == pytest.approx([h.log_prob for h in beam])
    assert [h.score for h in found] == [h.log_prob for h in found]


def test_a_wider_beam_finds_what_greedy_misses():
    gains = []
    for seed in range(4):
        wide = beam_search(Table(seed), padded(SOURCES), 50, 0.0)
        narrow = greedy(Table(seed), padded(SOURCES))
        gains += [w.log_prob - n.log_prob for w, n in zip(wide, narrow, strict=True)]
    assert max(gains) > 0.1
    assert min(gains) > -1e-9


def searches(extra=8):
    return {
        "greedy": lambda model, src: greedy(model, src, extra),
        "beam": lambda model, src: beam_search(model, src, 3, 0.6, extra),
    }


both = pytest.mark.parametrize("search", searches().values(), ids=searches())


@both
def test_without_an_end_the_length_is_the_limit(search):
    model = Table(end=-torch.inf)
    found = search(model, padded(SOURCES))
    assert [len(h.tokens) for h in found] == [limit(src, 8) for src in SOURCES]
    assert {i for h in found for i in h.tokens} <= set(WORDS)


@both
def test_certainty_is_shared_among_what_may_be_produced(search):
    class Uniform(Table):
        def step(self, state, token):
            return torch.zeros(len(token), VOCAB), state

    for hypothesis in search(Uniform(), padded(SOURCES)):
        length = round(-hypothesis.log_prob / math.log(VOCAB - 2))
        assert hypothesis.log_prob == pytest.approx(-length * math.log(VOCAB - 2), rel=1e-5)
        assert length - len(hypothesis.tokens) in (0, 1)  # 1 where it ends in EOS


class Scripted(Table):
    """Says as many words as the first token of its source tells, then ends."""

    def start(self, src):
        return {"left": src[:, 0]}

    def step(self, state, token):
        self.rows.append(len(token))
        logits = torch.full((len(token), VOCAB), -50.0)
        logits[:, 4] = torch.where(state["left"] > 0, 0.0, -40.0)
        logits[:, EOS] = torch.where(state["left"] > 0, -40.0, 0.0)
        return logits, {"left": state["left"] - 1}


def test_finished_sentences_leave_the_batch():
    wanted = [3, 1, 5, 1, 2]
    src = torch.tensor(wanted)[:, None]
    model = Scripted()
    assert [len(h.tokens) for h in greedy(model, src)] == wanted
    assert model.rows == [sum(n >= t for n in wanted) for t in range(6)]


def test_sentences_leave_the_beam_when_their_places_are_taken():
    wanted = [3, 1, 5]
    model = Scripted()
    found = beam_search(model, torch.tensor(wanted)[:, None], beam_size=2, alpha=0.0)
    assert [len(h.tokens) for h in found] == wanted
    assert model.rows[0] == 3
    assert all(rows <= 6 for rows in model.rows)
    assert model.rows[-1] < model.rows[1]
    alone = Scripted()
    beam_search(alone, torch.tensor([[5]]), beam_size=2, alpha=0.0)
    assert len(model.rows) == len(alone.rows)


@both
@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was(search, training):
    class Broken(Table):
        def step(self, state, token):
            assert not self.training
            assert not torch.is_grad_enabled()
            if len(self.rows) > 2:
                raise ArithmeticError("out of order")
            return super().step(state, token)

    model = Table().train(training)
    search(model, padded(SOURCES))
    assert model.training is training
    model = Broken(end=-torch.inf).train(training)
    with pytest.raises(ArithmeticError, match="out of order"):
        search(model, padded(SOURCES))
    assert model.training is training
    assert torch.is_grad_enabled()


def lively(name, **changes):
    """A random model whose translations are neither all alike nor all endless."""
    model = small_model(name, **changes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 2.5
        model.output.bias[EOS] += 1
    return model


def log_probs_of(model):
    """Log-probabilities by recomputing the whole prefix, of one sentence without padding."""

    def log_probs(src, prefix):
        with evaluating(model):
            logits = model(torch.tensor([src]), torch.tensor([[BOS, *prefix]]))[0, -1].tolist()
        total = math.log(sum(math.exp(x) for i, x in enumerate(logits) if i not in (PAD, BOS)))
        return {i: x - total for i, x in enumerate(logits) if i not in (PAD, BOS)}

    return log_probs


SRC = Batch.of(random_examples(6)).src
SRC_LISTS = [[i for i in row if i != PAD] for row in SRC.tolist()]


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize(
    ("name", "changes"), [*((name, {}) for name in MODELS), ("transformer", {"norm": "pre"})]
)
def test_cached_equals_the_whole_prefix_recomputed(name, changes, beam_size):
    model = lively(name, **changes)
    log_probs = log_probs_of(model)
    expected = [beam_of_one_sentence(log_probs, src, beam_size, 0.6, 5) for src in SRC_LISTS]
    assert_same(beam_search(model, SRC, beam_size, 0.6, 5), expected)
    if beam_size == 1:
        found = greedy(model, SRC, 5)
        assert [h.tokens for h in found] == [h.tokens for h in expected]
        assert [h.score for h in found] == pytest.approx([h.log_prob for h in expected])
        assert len({len(h.tokens) for h in found}) > 1


@every_model
@both
def test_a_batch_equals_one_by_one(name, search):
    model = lively(name)
    assert_same(search(model, SRC), [search(model, torch.tensor([s]))[0] for s in SRC_LISTS])


@every_model
@both
def test_log_prob_is_that_of_teacher_forcing(name, search):
    model = lively(name)
    for src, hypothesis in zip(SRC_LISTS, search(model, SRC), strict=True):
        tokens = hypothesis.tokens
        if len(tokens) < limit(src, 8):
            tokens = [*tokens, EOS]
        with evaluating(model):
            logits = model(torch.tensor([src]), torch.tensor([[BOS, *tokens[:-1]]]))[0]
        forced = next_log_probs(logits)[range(len(tokens)), tokens].sum()
        assert hypothesis.log_prob == pytest.approx(forced.item(), rel=1e-9)


def test_length_penalty():
    assert [length_penalty(n, 1.0) for n in (1, 7, 13)] == [1.0, 2.0, 3.0]
    assert length_penalty(25, 0.6) == pytest.approx(5**0.6)
    assert length_penalty(25, 0.0) == 1.0


def test_rows_of_a_state():
    state = {"a": torch.arange(3), "b": torch.arange(6).view(3, 2)}
    picked = select(state, torch.tensor([2, 0, 0]))
    assert picked["a"].tolist() == [2, 0, 0]
    assert picked["b"].tolist() == [[4, 5], [0, 1], [0, 1]]
    assert select(state, torch.tensor([False, True, False]))["b"].tolist() == [[2, 3]]


def test_out_of_range():
    with pytest.raises(InputError, match="beam_size is 0, it must be at least 1"):
        beam_search(Table(), padded(SOURCES), 0)
    for search in (greedy, beam_search):
        with pytest.raises(InputError, match="extra_length is -1, it must be at least 0"):
            search(Table(), padded(SOURCES), extra_length=-1)


def test_weights_that_are_no_numbers_are_told():
    with pytest.raises(InputError, match="a logit is nan"):
        next_log_probs(torch.tensor([[0.0, 1.0, 2.0, float("nan")]]))

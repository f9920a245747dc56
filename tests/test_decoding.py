"""Decoding against slow, obvious searches: over all translations, or one prefix at a time."""

import math
from dataclasses import FrozenInstanceError, dataclass, replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import (
    Hypothesis,
    Search,
    beam_search,
    decode,
    draw,
    greedy,
    length_penalty,
    next_log_probs,
    random_draws,
    without_end,
)
from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.models import MODELS
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.translator import State, Translator, evaluating
from small_models import random_examples, small_model

VOCAB = 6
WORDS = [i for i in range(VOCAB) if i not in (PAD, BOS, EOS)]


@dataclass(frozen=True)
class Read(State):
    """The source, as one number, and the last token that was read."""

    src: Tensor
    before: Tensor


class Table(Translator):
    """p(next | source, the two tokens before), drawn at random; it counts the rows it is given."""

    def __init__(self, seed=0, end=0.0):
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.table = 2 * torch.randn(5, VOCAB, VOCAB, VOCAB, generator=random, dtype=torch.float64)
        self.table[..., EOS] += end
        self.table[..., [PAD, BOS]] += 100  # must never be produced all the same
        self.rows = []

    def start(self, src):
        return Read(src.sum(dim=1) % 5, torch.full((len(src),), BOS))

    def extend(self, state, tokens):
        self.rows.append(len(tokens))
        before = torch.cat([state.before[:, None], tokens[:, :-1]], dim=1)
        logits = self.table[state.src[:, None], before, tokens]
        return logits, Read(state.src, tokens[:, -1])

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


def best_of_all(model, src, alpha, extra, prefix=()):
    """Rate every translation that can be written down and begins so; the best first."""
    longest, rated = limit(src, extra), []
    for n in range(longest - len(prefix) + 1):
        for words in product(WORDS, repeat=n):
            tokens = [*prefix, *words, EOS][:longest]
            log_prob = sum(model.log_probs(src, tokens[:t])[tokens[t]] for t in range(len(tokens)))
            score = log_prob / ((5 + len(tokens)) / 6) ** alpha
            rated.append(Hypothesis(without_end(tokens), log_prob, score))
    return sorted(rated, key=lambda h: -h.score)


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


def best(found):
    return [hypotheses[0] for hypotheses in found]


def assert_same(found, expected):
    assert [h.tokens for h in found] == [h.tokens for h in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.log_prob == pytest.approx(theirs.log_prob, rel=1e-9)
        assert ours.score == pytest.approx(theirs.score, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_as_wide_as_the_space_is_exhaustive(seed, alpha):
    model = Table(seed)
    found = beam_search(model, padded(SOURCES), Search(1000, alpha, best=7, extra_length=1))
    for src, hypotheses in zip(SOURCES, found, strict=True):
        assert_same(hypotheses, best_of_all(model, src, alpha, extra=1)[:7])


@pytest.mark.parametrize("beam_size", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_beam_equals_the_search_with_lists(seed, beam_size):
    model = Table(seed, end=-1.0)
    for alpha in (0.0, 0.6, 3.0):
        search = Search(beam_size, alpha, extra_length=6)
        found = best(beam_search(model, padded(SOURCES), search))
        expected = [
            beam_of_one_sentence(model.log_probs, src, beam_size, alpha, 6) for src in SOURCES
        ]
        assert_same(found, expected)


@pytest.mark.parametrize("seed", range(8))
def test_a_beam_of_one_is_greedy(seed):
    model = Table(seed, end=-1.0)
    found = greedy(model, padded(SOURCES), Search(extra_length=6))
    beam = best(beam_search(model, padded(SOURCES), Search(extra_length=6)))
    assert [h.tokens for h in found] == [h.tokens for h in beam]
    assert [h.log_prob for h in found] == pytest.approx([h.log_prob for h in beam])
    assert [h.score for h in found] == [h.log_prob for h in found]


def searches(extra=8):
    three = Search(3, 0.6, extra_length=extra)
    return {
        "greedy": lambda model, src: greedy(model, src, Search(extra_length=extra)),
        "beam": lambda model, src: best(beam_search(model, src, three)),
    }


both = pytest.mark.parametrize("search", searches().values(), ids=searches())


@both
def test_without_an_end_the_length_is_the_limit(search):
    model = Table(end=-torch.inf)
    found = search(model, padded(SOURCES))
    assert [len(h.tokens) for h in found] == [limit(src, 8) for src in SOURCES]
    assert {i for h in found for i in h.tokens} <= set(WORDS)


@dataclass(frozen=True)
class Left(State):
    """How many words are left to be said."""

    left: Tensor


class Scripted(Table):
    """Says as many words as the first token of its source tells, then ends."""

    def start(self, src):
        return Left(src[:, 0])

    def extend(self, state, tokens):
        self.rows.append(len(tokens))
        logits = torch.full((len(tokens), 1, VOCAB), -50.0)
        logits[:, 0, 4] = torch.where(state.left > 0, 0.0, -40.0)
        logits[:, 0, EOS] = torch.where(state.left > 0, -40.0, 0.0)
        return logits, Left(state.left - 1)


def test_finished_sentences_leave_the_batch():
    wanted = [3, 1, 5, 1, 2]
    src = torch.tensor(wanted)[:, None]
    model = Scripted()
    assert [len(h.tokens) for h in greedy(model, src)] == wanted
    assert model.rows == [sum(n >= t for n in wanted) for t in range(6)]


def test_sentences_leave_the_beam_when_their_places_are_taken():
    wanted = [3, 1, 5]
    model = Scripted()
    two = Search(2, alpha=0.0)
    found = best(beam_search(model, torch.tensor(wanted)[:, None], two))
    assert [len(h.tokens) for h in found] == wanted
    assert model.rows[0] == 3
    assert all(rows <= 6 for rows in model.rows)
    assert model.rows[-1] < model.rows[1]
    alone = Scripted()
    beam_search(alone, torch.tensor([[5]]), two)
    assert len(model.rows) == len(alone.rows)


@both
@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_as_it_was(search, training):
    class Broken(Table):
        def extend(self, state, tokens):
            assert not self.training
            assert not torch.is_grad_enabled()
            if len(self.rows) > 2:
                raise ArithmeticError("out of order")
            return super().extend(state, tokens)

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
    ("name", "changes"),
    [
        *((name, {"share_embeddings": True} if name == "transformer" else {}) for name in MODELS),
        ("transformer", {"norm_position": "pre", "share_embeddings": True}),
        ("language", {"prefix_mask": True, "share_embeddings": True}),
    ],
)
def test_cached_equals_the_whole_prefix_recomputed(name, changes, beam_size):
    model = lively(name, **changes)
    log_probs = log_probs_of(model)
    expected = [beam_of_one_sentence(log_probs, src, beam_size, 0.6, 5) for src in SRC_LISTS]
    found = beam_search(model, SRC, Search(beam_size, 0.6, extra_length=5))
    assert_same(best(found), expected)
    if beam_size == 1:
        found = greedy(model, SRC, Search(extra_length=5))
        assert [h.tokens for h in found] == [h.tokens for h in expected]
        assert [h.score for h in found] == pytest.approx([h.log_prob for h in expected])
        assert len({len(h.tokens) for h in found}) > 1


@pytest.mark.usefixtures("as_readers_do")
def test_length_penalty():
    assert [length_penalty(n, 1.0) for n in (1, 7, 13)] == [1.0, 2.0, 3.0]
    assert length_penalty(25, 0.6) == pytest.approx(5**0.6)
    assert length_penalty(25, 0.0) == 1.0
    assert length_penalty(0, 2.0) == pytest.approx((5 / 6) ** 2)
    with pytest.raises(InputError, match="length is -1, it must be an integer, at least 0"):
        length_penalty(-1, 0.6)
    assert length_penalty(np.uint8(255), 0.6) == length_penalty(255, 0.6)


def test_the_last_seed_may_be_drawn_with():
    last = Search(sample=True, best=2, seed=2**63 - 2)  # its samples have this seed and the next
    assert last.seed + last.best == 2**63
    assert [len(found) for found in decode(Table(), padded(SOURCES), last)] == [2] * 4


def test_neither_a_search_nor_a_translation_can_be_changed_behind_the_checks():
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'score'"):
        Hypothesis([4], -1.0, -1.0).score = 0.0
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'beam'"):
        Search().beam = 0


def test_greedy_search_has_no_beam():
    with pytest.raises(InputError, match="beam is 2, greedy search needs beam 1: use decode"):
        greedy(Table(), padded(SOURCES), Search(2))


def test_logits_are_rated_with_32_bits_at_least_and_left_as_they_are():
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        logits = torch.randn(2, VOCAB).to(dtype)
        before = logits.clone()
        rated = next_log_probs(logits)
        assert torch.equal(logits, before)
        assert rated.dtype == torch.promote_types(dtype, torch.float32)
        before[:, [PAD, BOS]] = -torch.inf
        expected = before.double().log_softmax(-1)
        torch.testing.assert_close(rated.double(), expected, rtol=1e-6, atol=1e-6)


def test_nothing_said_is_what_the_papers_say():
    """α of the length penalty and 50 tokens more than the source: Vaswani et al. 2017, 6.1."""
    assert Search() == Search(beam=1, alpha=0.6, extra_length=50, seed=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "beam is 0, it must be an integer, at least 1"),
        (
            {"sample": True, "best": 2, "seed": 2**63 - 1},
            f"seed is {2**63 - 1} and best 2: each sample takes the next seed, and the last one "
            "must be at most 9223372036854775807.",
        ),
        ({"best": 2}, "best is 2, it must be at most the beam, 1, unless sample is set"),
        ({"sample": True, "beam": 2}, "beam is 2, it must be 1 when sample is set"),
        ({"top_k": 3}, "temperature, top_k, top_p and min_p are settings of sampling: set sample"),
    ],
)
def test_a_search_that_cannot_be_made(settings, message):
    with pytest.raises(InputError, match=message):
        Search(**settings)


# --- the best of many -----------------------------------------------------------------------------


@pytest.mark.parametrize("search", [Search(), Search(4), Search(4, best=3)])
def test_decoding_is_greedy_or_a_beam(search):
    model = Table(2, end=-1.0)
    found = decode(model, padded(SOURCES), search)
    if search.beam == 1:
        assert found == [[hypothesis] for hypothesis in greedy(model, padded(SOURCES), search)]
    else:
        assert found == beam_search(model, padded(SOURCES), search)
    assert {len(hypotheses) for hypotheses in found} == {search.best}


# --- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, [0.4, 0.3, 0.2, 0.1]),
        ({"top_k": 2}, [0.4, 0.3, 0, 0]),
        ({"top_p": 0.39}, [0.4, 0, 0, 0]),
        ({"top_p": 0.41}, [0.4, 0.3, 0, 0]),
        ({"top_p": 0.89}, [0.4, 0.3, 0.2, 0]),
        ({"top_k": 3, "top_p": 0.75}, [0.4, 0.3, 0, 0]),  # of the three 4/9 and 3/9 are 7/9
        ({"temperature": 0.5}, [0.16, 0.09, 0.04, 0.01]),
        ({"temperature": 2.0}, [0.4**0.5, 0.3**0.5, 0.2**0.5, 0.1**0.5]),
    ],
)
def test_a_draw_has_the_chances_that_it_should(changes, kept):
    """Every number of a fine grid in [0, 1) draws a token: as many as its share."""
    places, numbers = [3, 1, 0, 2], 10_000
    p = torch.zeros(4, dtype=torch.float64)
    p[places] = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    rows = p.log().expand(numbers, -1)
    grid = (torch.arange(numbers, dtype=torch.float64) + 0.5) / numbers
    drawn = draw(rows, Search(sample=True, **changes), grid)
    shares = torch.bincount(drawn, minlength=4)[places] / numbers
    wanted = torch.tensor(kept) / sum(kept)
    assert (shares - wanted).abs().max() < 2 / numbers


def test_the_fewest_that_have_the_probability_are_no_more_than_that():
    """Two of four equal tokens have one half, to the bit; a third would be too many."""
    numbers = torch.linspace(0, 0.99, 100)
    drawn = draw(torch.zeros(100, 4), Search(sample=True, top_p=0.5), numbers)
    assert len(drawn.unique()) == 2


def test_a_number_that_the_probabilities_reach_without_passing_it_draws_the_next():
    drawn = draw(torch.zeros(4, 4), Search(sample=True), torch.tensor([0.0, 0.25, 0.5, 0.75]))
    assert len(drawn.unique()) == 4


@pytest.mark.slow
def test_a_sample_is_that_of_the_model():
    """Ten thousand samples of a model without memory: their shares are its probabilities."""
    model, search = Table(3), Search(sample=True, extra_length=0)
    first = [greedy(model, torch.tensor([[EOS]]), replace(search, seed=i))[0] for i in range(4000)]
    wanted = {i: math.exp(p) for i, p in model.log_probs([EOS], []).items()}
    for word, p in wanted.items():
        share = sum((h.tokens or [EOS]) == [word] for h in first) / len(first)
        assert share == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / len(first)) + 1e-9)
    assert all(
        h.log_prob == pytest.approx(math.log(wanted[(h.tokens or [EOS])[0]])) for h in first[:50]
    )


def test_the_same_seed_draws_the_same_alone_and_in_any_batch():
    model, search = Table(4, end=-1.0), Search(sample=True, seed=3, extra_length=6)
    together = greedy(model, padded(SOURCES), search)
    alone = [greedy(model, torch.tensor([src]), search)[0] for src in SOURCES]
    assert together == alone
    assert together != greedy(model, padded(SOURCES), replace(search, seed=4))
    torch.manual_seed(99)  # PyTorch's own generator has no part in it
    assert greedy(model, padded(SOURCES), search) == together


def test_several_samples_are_those_of_the_seeds_that_follow():
    model, search = Table(4, end=-1.0), Search(sample=True, seed=3, best=3, extra_length=6)
    found = decode(model, padded(SOURCES), search)
    for i in range(3):
        single = replace(search, seed=3 + i, best=1)
        assert [h[i] for h in found] == greedy(model, padded(SOURCES), single)


def test_numbers_that_are_drawn_lie_between_zero_and_one_and_differ():
    numbers = random_draws(padded(SOURCES), 0, 1000)
    assert numbers.shape == (4, 1000)
    assert ((numbers >= 0) & (numbers < 1)).all()
    assert numbers.mean().item() == pytest.approx(0.5, abs=0.03)
    assert not torch.equal(numbers[0], numbers[1])
    assert not torch.equal(numbers, random_draws(padded(SOURCES), 1, 1000))


# --- prefixes -------------------------------------------------------------------------------------

PREFIXES = [[], [4], [3, 5, 4], [5, 5]]
WAYS = {
    "greedy": Search(extra_length=6),
    "beam": Search(3, extra_length=6),
    "best": Search(3, best=2, extra_length=6),
    "sample": Search(sample=True, seed=5, extra_length=6),
}
every_way = pytest.mark.parametrize("search", WAYS.values(), ids=WAYS)


@every_way
@pytest.mark.parametrize("name", ["table", *MODELS])
def test_ragged_prefixes_in_one_batch_are_those_of_the_sentences_one_by_one(search, name):
    model = Table(5, end=-1.0) if name == "table" else lively(name, vocab=VOCAB)
    together = decode(model, padded(SOURCES), search, PREFIXES)
    for src, prefix, found in zip(SOURCES, PREFIXES, together, strict=True):
        [alone] = decode(model, torch.tensor([src]), search, [prefix])
        assert_same(found, alone)
        assert all(hypothesis.tokens[: len(prefix)] == prefix for hypothesis in found)


def test_a_prefix_is_rated_as_the_model_rates_it_and_goes_on_as_if_it_had_been_chosen():
    model = Table(6, end=-1.0)
    free = greedy(model, padded(SOURCES), WAYS["greedy"])
    own = [h.tokens[:2] for h in free]
    assert greedy(model, padded(SOURCES), WAYS["greedy"], own) == free
    [forced] = greedy(model, torch.tensor([[4, EOS]]), WAYS["greedy"], [[3, 3]])
    words = [*forced.tokens, EOS][: limit([4, EOS], 6)]
    total = sum(model.log_probs([4, EOS], words[:t])[words[t]] for t in range(len(words)))
    assert forced.log_prob == pytest.approx(total)


def test_a_beam_with_a_prefix_is_the_best_that_begin_so():
    model, src, prefix = Table(7), [4, EOS], [5]
    [[found]] = beam_search(model, padded([src]), Search(1000, 0.0, extra_length=1), [prefix])
    assert_same([found], best_of_all(model, src, 0.0, 1, prefix)[:1])


@pytest.mark.parametrize(
    ("prefixes", "message"),
    [
        ([[4]], "there are 1 prefixes for 4 sentences"),
        ([[], [EOS], [], []], r"a prefix is \[2\]: it must have at most \d+ tokens, none of"),
        ([[], [BOS, 4], [], []], "none of them special"),
        ([[4] * 99, [], [], []], "a prefix is .* it must have at most 8 tokens"),
        (
            [[5, PAD], [], [], []],
            r"a prefix is \[5, 0\]: it must have at most \d+ tokens, none of them special",
        ),
        ([[5, -1], [], [], []], "an id is -1, it must be an integer from 0 to"),
        ([[VOCAB], [], [], []], "a prefix contains id 6, it must be below 6"),
    ],
)
def test_prefixes_that_cannot_be_continued(prefixes, message):
    for search in (Search(extra_length=6), Search(2, extra_length=6)):
        with pytest.raises(InputError, match=message):
            decode(Table(), padded(SOURCES), search, prefixes)


# --- the end of the model -------------------------------------------------------------------------


@every_way
def test_no_search_runs_past_the_last_position_of_the_model(search):
    model = lively("transformer", max_length=9)
    with torch.no_grad():
        model.output.bias[EOS] = -torch.inf  # it never ends by itself
    src = torch.tensor([[4, 5, 6, 7, 8, 9, EOS], [4, EOS, PAD, PAD, PAD, PAD, PAD]])
    for hypothesis in (h for found in decode(model, src, search) for h in found):
        assert 8 <= len(hypothesis.tokens) <= 9
    longer = decode(model, src[:1], replace(search, extra_length=50))
    assert {len(hypothesis.tokens) for hypothesis in longer[0]} == {9}


@every_way
def test_a_source_takes_room_from_what_a_model_of_one_text_may_write(search):
    model = lively("language", max_length=16)
    with torch.no_grad():
        model.output.bias[EOS] = -torch.inf
    src = torch.tensor([[4, 5, 6, 7, 8, 9, EOS], [4, EOS, PAD, PAD, PAD, PAD, PAD]])
    found = decode(model, src, replace(search, extra_length=50))
    assert [{len(h.tokens) for h in hypotheses} for hypotheses in found] == [{9}, {14}]


def test_weights_that_are_no_numbers_are_told():
    for broken in (math.nan, math.inf):
        with pytest.raises(DivergedError, match="a logit is nan or inf"):
            next_log_probs(torch.tensor([[0.0, 1.0, 2.0, broken]]))
    assert next_log_probs(torch.tensor([[0.0, 1.0, 2.0, -math.inf]]))[0, 2] == 0

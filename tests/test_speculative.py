"""Speculative decoding against greedy search, and against the exact distribution of sentences."""

import math
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import pytest
import torch
from scipy import stats

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import Search, greedy
from annotated_transformer.ground.errors import InputError
from annotated_transformer.models import MODELS
from annotated_transformer.run import Run
from annotated_transformer.speculative import speculate
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.translator import State, Translator
from small_models import random_examples, small_model

pytestmark = pytest.mark.usefixtures("as_readers_do")  # without checks of types, in half the time

ROOT = Path(__file__).resolve().parent.parent


def assert_greedy(target, draft, sources, k, extra_length=50):
    """It is greedy search, token for token; returns accepted and drafted tokens of all calls."""
    counts = []
    for src in sources:
        found = speculate(target, draft, src, k, extra_length=extra_length)
        [wanted] = greedy(target, src, Search(extra_length=extra_length))
        assert found.tokens == wanted.tokens
        counts += zip(found.accepted, found.drafted, strict=True)
    return counts


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("target", MODELS)
def test_at_temperature_0_it_is_greedy_search_whatever_the_draft(target, k):
    sources = [Batch.of([pair]).src for pair in random_examples(2, seed=k)]
    models = {name: small_model(name) for name in MODELS}
    for draft in models.values():
        assert_greedy(models[target], draft, sources, k, extra_length=6)
    itself = assert_greedy(models[target], models[target], sources, k, extra_length=6)
    assert all(accepted == drafted for accepted, drafted in itself)


@pytest.mark.slow
def test_trained_models_draft_for_each_other():
    names = ("seq2seq", "bahdanau", "transformer", "language")
    models = {name: Run.open(ROOT / "checkpoints" / f"toy-{name}") for name in names}
    text = ["I am a student", "the birds that cry are not fast", "he thinks that she can run"]
    vocabulary = models["language"].vocabularies.src
    sources = [Batch.of([(vocabulary.encode(line), [])]).src for line in text]
    for target, draft, k in product(("transformer", "language"), names, (1, 4)):
        counts = assert_greedy(models[target].model, models[draft].model, sources, k)
        assert sum(accepted for accepted, _ in counts) > len(text)


def test_no_token_lies_beyond_the_positions_of_either_model():
    models = small_model("transformer", max_length=7), small_model("transformer")
    for target, draft in (models, models[::-1]):
        assert_greedy(target, draft, [torch.tensor([[5, 6, EOS]])], k=5)


# --- sampling ------------------------------------------------------------------------------------


class Bigrams(Translator):
    """p(next | the token before), at random: all its sentences can be written down."""

    def __init__(self, size=6):
        super().__init__()
        self.table = 1.5 * torch.randn(size, size, dtype=torch.float64)

    def start(self, src):
        return State()

    def extend(self, state, tokens):
        return self.table[tokens], state


LONGEST, SAMPLES = 3, 2000
SRC = torch.tensor([[EOS]])


def exact(model, temperature):
    """The probability of every sentence of at most three tokens, EOS counted."""
    table = (model.table / temperature).exp()
    table[:, [PAD, BOS]] = 0
    p = (table / table.sum(dim=1, keepdim=True)).tolist()
    words = [i for i in range(len(p)) if i not in (PAD, BOS, EOS)]
    found = {}
    for n in range(LONGEST + 1):
        for sentence in product(words, repeat=n):
            tokens = [BOS, *sentence, EOS][: LONGEST + 1]
            found[sentence] = math.prod(p[before][token] for before, token in pairwise(tokens))
    assert sum(found.values()) == pytest.approx(1)
    return found


@pytest.mark.parametrize(("k", "temperature"), [(1, 1.0), (3, 0.6)])
def test_samples_have_the_distribution_of_the_target(k, temperature):
    """By a χ² test of so many samples."""
    target, other = Bigrams(), Bigrams()
    counts = Counter(
        tuple(speculate(target, other, SRC, k, temperature, seed, LONGEST - 1).tokens)
        for seed in range(SAMPLES)
    )
    chances = exact(target, temperature)
    rare = [s for s, p in chances.items() if p * SAMPLES < 5]  # they are one cell together
    cells = [(counts[s], p * SAMPLES) for s, p in chances.items() if s not in rare]
    cells.append((sum(counts[s] for s in rare), sum(chances[s] for s in rare) * SAMPLES))
    assert counts.keys() <= chances.keys()
    assert stats.chisquare(*zip(*cells, strict=True)).pvalue > 0.001


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"k": 0}, "k is 0, it must be an integer, at least 1."),
        ({"temperature": math.nan}, "temperature is nan, it must be at least 0 and finite."),
        ({"src": torch.tensor([[5, EOS], [6, EOS]])}, "there are 2 sentences, there must be one."),
        ({"seed": -1}, "seed is -1, it must be an integer, at least 0"),
        ({"extra_length": 2.5}, "extra_length is 2.5, it must be an integer, at least 0"),
        ({"draft": small_model("seq2seq", vocab=12)}, "the target vocabularies have 11 and 12"),
    ],
)
def test_bad_input_is_refused(changes, says):
    model = small_model("seq2seq")
    given = {"target": model, "draft": model, "src": torch.tensor([[5, EOS]])} | changes
    with pytest.raises(InputError, match=f"^{says}"):
        speculate(**given)

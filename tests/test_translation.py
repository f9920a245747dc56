"""Texts of any number and length are translated as if each came alone."""

from dataclasses import dataclass
from random import Random

import pytest
import torch
from torch import Tensor

from annotated_transformer.decoding import GREEDY, Hypothesis, Search, decode
from annotated_transformer.ground.errors import InputError
from annotated_transformer.tokens import EOS, Vocabularies
from annotated_transformer.translation import search_all, translate, translate_ids, translations
from annotated_transformer.translator import State, Translator
from oracles import randomise
from small_models import random_examples, small_model

SHORT = Search(extra_length=4)
SOURCES = [source for source, _ in random_examples(12, longest=7)]


@dataclass(frozen=True)
class Place(State):
    src: Tensor
    at: Tensor


class Copyist(Translator):
    """Repeats its source, and keeps account of how much it read at once."""

    def __init__(self, vocab):
        super().__init__()
        self.vocab, self.shapes = vocab, []

    def start(self, src):
        self.shapes.append(src.shape)
        return Place(src, torch.zeros(len(src), dtype=torch.long))

    def extend(self, state, tokens):
        at = state.at[:, None] + torch.arange(tokens.size(1))
        said = state.src.gather(1, at % state.src.size(1))
        logits = torch.full((*tokens.shape, self.vocab), -30.0).scatter(2, said[..., None], 30.0)
        return logits, Place(state.src, state.at + tokens.size(1))


@pytest.mark.parametrize("beam", [1, 3])
def test_translations_come_in_the_order_of_the_texts(beam):
    random = Random(0)
    texts = [" ".join(random.choices("abcdefg", k=random.randrange(8))) for _ in range(40)]
    texts[3] = texts[17] = ""
    vocabularies = Vocabularies.learn([(text, text) for text in texts], subwords=0)
    model, search = Copyist(len(vocabularies.tgt)), Search(beam=beam)
    found = translate(model, texts, vocabularies, search, max_tokens=24 * beam)
    assert found == texts
    assert all(rows * width <= 24 for rows, width in model.shapes)
    assert len(model.shapes) < 30
    assert translate(model, [], vocabularies) == []
    assert translate(model, ["", " "], vocabularies, search) == ["", ""]


def test_a_text_longer_than_a_batch_is_one_by_itself():
    model = Copyist(9)
    assert translate_ids(model, [[5] * 30, [6], [7, 8]]) == [[5] * 30, [6], [7, 8]]
    found = search_all(model, [[5] * 30, [6], [7, 8]], GREEDY, max_tokens=4)
    assert [best.tokens for [best] in found] == [[5] * 30, [6], [7, 8]]


@pytest.mark.parametrize("name", ["luong", "transformer"])
@pytest.mark.parametrize(
    "search",
    [
        SHORT,
        Search(beam=3, best=2, extra_length=4),
        Search(sample=True, best=3, seed=5, extra_length=4),
    ],
)
def test_each_sentence_is_translated_as_if_it_came_alone(name, search):
    model = randomise(small_model(name))
    sources = [*SOURCES[:5], [], *SOURCES[5:]]
    found = search_all(model, sources, search, max_tokens=20)
    for source, hypotheses in zip(sources, found, strict=True):
        if not source:
            assert hypotheses == [Hypothesis([], 0.0, 0.0)] * search.best
            continue
        [alone] = decode(model, torch.tensor([[*source, EOS]]), search)
        assert [h.tokens for h in hypotheses] == [h.tokens for h in alone]
        for one, other in zip(hypotheses, alone, strict=True):
            assert one.score == pytest.approx(other.score)
    assert translate_ids(model, sources, search) == [best.tokens for best, *_ in found]


def test_a_prefix_goes_with_its_sentence():
    model, prefixes = randomise(small_model("transformer")), [[4 + i % 7] for i in range(12)]
    search = Search(beam=2, extra_length=4)
    found = search_all(model, SOURCES, search, prefixes, max_tokens=20)
    assert [best.tokens[:1] for [best] in found] == prefixes
    for source, prefix, [best] in zip(SOURCES, prefixes, found, strict=True):
        [[alone]] = search_all(model, [source], search, [prefix])
        assert best.tokens == alone.tokens


def test_several_translations_of_a_text_begin_with_what_was_given():
    texts = ["a b c", "b", ""]
    vocabularies = Vocabularies.learn([(text, text) for text in texts], subwords=0)
    model = randomise(small_model("luong", vocab=len(vocabularies.tgt)))
    search = Search(beam=3, best=2)
    found = translations(model, texts, vocabularies, search, ["c", "", ""])
    assert [len(best) for best in found] == [2, 2, 2]
    assert all(text.split()[0] == "c" for text in found[0])
    assert found[2] == ["", ""]
    free = translations(model, texts, vocabularies, search)
    assert [best for best, *_ in free] == translate(model, texts, vocabularies, search)
    assert free[1:] == found[1:]


@pytest.mark.parametrize("given", [0, 1, 3])
def test_there_is_a_prefix_for_each_sentence(given):
    with pytest.raises(InputError, match=f"^there are {given} prefixes for 2 sentences"):
        search_all(small_model("seq2seq"), [[5], [6]], GREEDY, [[4]] * given)


def test_a_source_longer_than_the_model_is_refused_before_any_is_translated():
    model = small_model("transformer", max_length=5)
    assert len(search_all(model, [[5] * 4], GREEDY)) == 1
    with pytest.raises(
        InputError, match=r"^sentence 2 has 6 tokens with its end symbol, the model"
    ):
        search_all(model, [[5], [5] * 5, [6]], GREEDY)
    with pytest.raises(InputError, match="the model takes 5: shorten it, or train with a larger"):
        translate_ids(model, [[5] * 99])
    assert len(translate_ids(small_model("seq2seq"), [[5] * 99])) == 1

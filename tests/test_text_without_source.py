"""Text without a source goes the way of sentence pairs: to batches, a trainer, a perplexity."""

import math

import pytest
import torch

from annotated_transformer.batches import TextBatch, batch_of, batches_by_tokens
from annotated_transformer.corpora import load_corpus
from annotated_transformer.decoding import Search, greedy
from annotated_transformer.evaluation import perplexity
from annotated_transformer.ground.errors import InputError
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.run import Run
from annotated_transformer.run.recipe import Recipe
from annotated_transformer.text.examples import Examples
from annotated_transformer.tokens import BOS, EOS, PAD, Vocabulary
from annotated_transformer.training import Trainer, endless_batches
from oracles import assert_close, randomise
from small_models import small_model


def language_model(**changes):
    return small_model("language", has_source=False, **changes)


TEXTS = [([5, 6, 7, 8],), ([7],), ([8, 8, 5],), ([4, 5],)]


def test_examples_of_one_side_are_batched_by_their_length():
    examples = Examples.of(TEXTS)
    assert list(examples) == TEXTS
    assert list(examples[1:].within(2)) == [TEXTS[1], TEXTS[3]]
    groups = [group.tolist() for group in batches_by_tokens(TEXTS, 8)]
    assert groups == [[1, 3], [2], [0]]
    batch = batch_of(TEXTS[:2])
    assert type(batch) is TextBatch
    assert batch.tgt_in.tolist() == [[BOS, 5, 6, 7, 8], [BOS, 7, PAD, PAD, PAD]]
    assert batch.tgt_out.tolist() == [[5, 6, 7, 8, EOS], [7, EOS, PAD, PAD, PAD]]
    assert batch.num_tokens == 7


def test_pairs_and_single_sentences_are_not_mixed():
    with pytest.raises(InputError, match=r"an example is \(\[5\],\), it must be a source and a ta"):
        Examples.of([([5], [6]), ([5],)])
    with pytest.raises(InputError, match="or a single sentence, like the other examples"):
        batch_of([([5],), ([5], [6])])
    with pytest.raises(InputError, match="must not contain 0, the padding"):
        TextBatch.of([([5, 0],)])
    with pytest.raises(InputError, match="tgt_in is of the type NoneType"):
        perplexity(small_model("transformer"), TEXTS)


@torch.no_grad()
def test_perplexity_is_that_of_each_sentence_by_itself():
    model = randomise(language_model()).eval()
    surprise = tokens = 0
    for (text,) in TEXTS:
        log_probs = model(torch.tensor([[BOS, *text]]))[0].log_softmax(dim=-1)
        surprise -= log_probs[torch.arange(len(text) + 1), [*text, EOS]].sum().item()
        tokens += len(text) + 1
    for most in (5, 8, 4096):
        assert perplexity(model, TEXTS, most) == pytest.approx(math.exp(surprise / tokens), 1e-9)


@pytest.mark.slow
@torch.no_grad()
def test_a_sentence_padded_on_the_left_is_read_as_without_padding():
    model = randomise(language_model()).eval()
    row = torch.tensor([[BOS, 5, 6, 7]])
    padded = torch.tensor([[PAD, PAD, BOS, 5, 6, 7], [BOS, 8, 8, 5, 4, 6]])
    assert_close(model(padded)[:1, 2:], model(row), 1e-12)
    _, state = model.extend(model.empty(2), padded[:, :4])
    for t in (4, 5):
        last, state = model.step(state, padded[:, t])
        assert_close(last, model(padded)[:, t], 1e-12)


def test_texts_that_begin_otherwise_are_drawn_otherwise():
    model = language_model()
    for parameter in model.parameters():
        parameter.data.zero_()  # every token is as probable as any other, whatever was read
    search, src = Search(sample=True, seed=3, extra_length=20), torch.full((3, 1), PAD)
    one, other, again = greedy(model, src, search, [[5, 6], [6, 5], [5, 6]])
    assert one.tokens == again.tokens
    assert one.tokens[2:] != other.tokens[2:]
    assert [other] == greedy(model, src[:1], search, [[6, 5]])


def test_a_language_model_learns_a_corpus_of_one_language():
    corpus = load_corpus("toy", "ko")
    texts = corpus.sides("train")[0][:32]
    vocabulary = Vocabulary.words(texts)
    examples = [(ids,) for ids in vocabulary.encode_all(texts)]
    torch.manual_seed(0)
    model = language_model(vocab=len(vocabulary), d_model=32).float()
    trainer = Trainer(model, smoothed_cross_entropy, lambda step: 5e-3)
    batches = endless_batches(examples, 200, seed=0)
    before = perplexity(model, examples)
    for _ in range(150):
        trainer.update([next(batches)])
    assert perplexity(model, examples) < 2 < 50 < before


def test_a_translator_is_not_trained_on_one_language(tmp_path):
    with pytest.raises(InputError, match="toy is read in ko alone: a translator needs a source"):
        Run.create(tmp_path / "run", Recipe("transformer", "toy"), load_corpus("toy", "ko"))
    assert not (tmp_path / "run").exists()

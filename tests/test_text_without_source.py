"""Text without a source goes the way of sentence pairs: to batches, a trainer, a perplexity.

The language model here is as a newcomer would write one: the parts of the Transformer's decoder.
"""

import math
from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from annotated_transformer.batches import TextBatch, batch_of, batches_by_tokens
from annotated_transformer.corpora import load_corpus
from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import perplexity
from annotated_transformer.examples import Examples
from annotated_transformer.layers import DecoderLayer, FeedForward, Residual
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.masking import target_mask
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.run import Run
from annotated_transformer.run.recipe import Recipe
from annotated_transformer.tokens import BOS, EOS, PAD, Vocabulary
from annotated_transformer.training import Trainer, endless_batches
from annotated_transformer.transformer import Embedding, TransformerConfig
from annotated_transformer.translator import NextTokenModel, State
from oracles import assert_close, randomise
from small_models import small_model


@dataclass(frozen=True)
class Read(State):
    tokens: torch.Tensor
    past: tuple[KeyValues, ...]


class LanguageModel(NextTokenModel):
    """A decoder without a source, which takes sentences that are padded on either side."""

    def __init__(self, config):
        super().__init__()
        self.config, self.max_length = config, config.max_length
        self.embedding = Embedding(config.tgt_vocab, config)
        self.layers = nn.ModuleList(
            DecoderLayer(
                MultiHeadAttention(config.d_model, config.num_heads),
                None,
                FeedForward(config.d_model, config.d_ff),
                lambda: Residual(config.d_model, config.dropout, "pre"),
            )
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(config.d_model)

    def start(self, batch):
        past = tuple(layer.self_attention.empty(batch) for layer in self.layers)
        return Read(torch.empty(batch, 0, dtype=torch.long), past)

    def extend(self, state, tokens):
        start, read = state.tokens.size(1), torch.cat([state.tokens, tokens], dim=1)
        positions = ((read != PAD).cumsum(dim=1) - 1).clamp(min=0)[:, start:]
        x, mask, past = self.embedding(tokens, positions), target_mask(read, start), []
        for layer, before in zip(self.layers, state.past, strict=True):
            x, seen = layer(x, before, mask, positions=positions)
            past.append(seen)
        logits = self.norm(x) @ self.embedding.tokens.weight.T
        return logits, replace(state, tokens=read, past=tuple(past))

    def forward(self, tgt_in):
        return self.extend(self.start(len(tgt_in)), tgt_in)[0]


def language_model(vocabulary=9, **changes):
    sizes = {"d_model": 16, "num_layers": 2, "num_heads": 4, "d_ff": 32, "dropout": 0.0}
    return LanguageModel(TransformerConfig(4, vocabulary, **sizes | changes))


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
    model = randomise(language_model()).double().eval()
    surprise = tokens = 0
    for (text,) in TEXTS:
        log_probs = model(torch.tensor([[BOS, *text]]))[0].log_softmax(dim=-1)
        surprise -= log_probs[torch.arange(len(text) + 1), [*text, EOS]].sum().item()
        tokens += len(text) + 1
    for most in (5, 8, 4096):
        assert perplexity(model, TEXTS, most) == pytest.approx(math.exp(surprise / tokens), 1e-9)


@torch.no_grad()
def test_a_sentence_padded_on_the_left_is_read_as_without_padding():
    model = randomise(language_model()).double().eval()
    row = torch.tensor([[BOS, 5, 6, 7]])
    padded = torch.tensor([[PAD, PAD, BOS, 5, 6, 7], [BOS, 8, 8, 5, 4, 6]])
    assert_close(model(padded)[:1, 2:], model(row), 1e-12)
    _, state = model.extend(model.start(2), padded[:, :4])
    for t in (4, 5):
        last, state = model.step(state, padded[:, t])
        assert_close(last, model(padded)[:, t], 1e-12)


def test_a_language_model_learns_a_corpus_of_one_language():
    corpus = load_corpus("toy", "ko")
    texts = corpus.sides("train")[0][:32]
    vocabulary = Vocabulary.words(texts)
    examples = [(ids,) for ids in vocabulary.encode_all(texts)]
    torch.manual_seed(0)
    model = language_model(len(vocabulary), d_model=32)
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

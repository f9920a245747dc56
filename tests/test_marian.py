"""The whole Transformer against a translation model that others wrote: MarianMT of Hugging Face."""

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from annotated_transformer.decoding import Search, beam_search, greedy
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer, TransformerConfig
from oracles import (
    BOTH_DTYPES,
    BOTH_WAYS,
    assert_close,
    marian_pairs,
    randomise,
    to_theirs,
    weigh,
)
from transformer_workbook.notebook import drawn_in_float64

VOCAB = 17
SRC = torch.tensor([[5, 6, 7, 8, 9, 2], [5, 6, 2, 0, 0, 0], [12, 11, 10, 9, 2, 0]])
TGT = torch.tensor([[1, 6, 7, 0, 0], [1, 6, 7, 8, 9], [1, 4, 0, 0, 0]])


def both_models(dtype):
    config = TransformerConfig(
        VOCAB, VOCAB, d_model=16, num_layers=2, num_heads=4, d_ff=24, dropout=0.0, max_length=32,
        share_embeddings=True,
    )  # fmt: skip
    # In float64 too, the library's table of positions is rounded to float32: round ours first.
    ours = randomise(Transformer(config)).float().to(dtype)
    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=VOCAB, d_model=16, max_position_embeddings=32,
            encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=24,
            decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=24,
            activation_function="relu", dropout=0.0, scale_embedding=True,
            pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS, decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
    )  # fmt: skip
    interleave_positions(theirs)
    return ours, randomise(theirs).to(dtype)


@torch.no_grad()
def interleave_positions(theirs):
    """Put sine and cosine of one frequency side by side, as in the paper and in our model.

    The library has all sines in the first half of the dimensions, all cosines in the second. The
    numbers stay those that it computed; only their places change.
    """
    for stack in (theirs.model.encoder, theirs.model.decoder):
        table = stack.embed_positions.weight
        table.copy_(table.unflatten(1, (2, -1)).transpose(1, 2).flatten(1))


def logits_of(theirs, src=SRC, tgt=TGT):
    return theirs(
        input_ids=src,
        attention_mask=(src != PAD).long(),
        decoder_input_ids=tgt,
        decoder_attention_mask=(tgt != PAD).long(),
    ).logits


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("carry", BOTH_WAYS)
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_logits_are_those_of_marian(dtype, carry, training):
    ours, theirs = (model.train(training) for model in both_models(dtype))
    carry(marian_pairs(ours, theirs))
    is_word = TGT != PAD
    output, expected = ours(SRC, TGT)[is_word], logits_of(theirs)[is_word]
    assert_close(output, expected)
    embedding, library = ours.tgt_embedding.tokens.weight, theirs.model.shared.weight
    weigh(output).backward(inputs=[embedding])
    weigh(expected).backward(inputs=[library])
    assert_close(embedding.grad, library.grad)


def generated(theirs, src, **settings):
    """What the library produces, without ``BOS``, cut at ``EOS``."""
    config = GenerationConfig(
        pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=BOS,
        suppress_tokens=[PAD, BOS], do_sample=False, **settings,
    )  # fmt: skip
    rows = theirs.generate(src, attention_mask=(src != PAD).long(), generation_config=config)
    sentences = [row[1:].tolist() for row in rows]
    return [s[: s.index(EOS)] if EOS in s else s for s in sentences]


@pytest.fixture(scope="module")
def half_trained():
    """A model on its way to reversing its source: one of random weights repeats a single word.

    In float64, so that it is on its way as far on every processor.
    """
    config = both_models(torch.float64)[0].config
    torch.manual_seed(0)
    with drawn_in_float64():
        model = Transformer(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        src = torch.cat([torch.randint(4, VOCAB, (16, 5)), torch.full((16, 1), EOS)], dim=1)
        tgt = torch.cat([torch.full((16, 1), BOS), src[:, :5].flip(1), src[:, 5:]], dim=1)
        logits = model(src, tgt[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def with_twin(model, eos_bias=None):
    """The model in float64, and the library's with the same weights.

    Padding and the beginning are hardly likely: the library leaves them out of the choice, but
    does not share out their probability among the others.
    """
    ours, theirs = both_models(torch.float64)
    ours.load_state_dict(model.state_dict())
    with torch.no_grad():
        ours.output.bias[[PAD, BOS]] = -1e6
        if eos_bias is not None:
            ours.output.bias[EOS] = eos_bias
    to_theirs(marian_pairs(ours, theirs))
    return ours, theirs.eval()


def test_greedy_search_finds_what_marian_generates(half_trained):
    ours, theirs = with_twin(half_trained)
    found = [hypothesis.tokens for hypothesis in greedy(ours, SRC, Search(extra_length=10))]
    longest = (SRC != PAD).sum(dim=1) + 10
    expected = generated(theirs, SRC, num_beams=1, max_new_tokens=int(longest.max()))
    assert found == [s[:n] for s, n in zip(expected, longest.tolist(), strict=True)]
    assert len({token for tokens in found for token in tokens}) > 2  # no trivial sentences


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_a_beam_finds_what_marian_generates(half_trained, beam_size):
    # No sentence ends before its time here: libraries differ in how they rank long and short ones.
    ours, theirs = with_twin(half_trained, eos_bias=-1e6)
    search = Search(beam=beam_size, alpha=0.0, extra_length=2)
    found = [best.tokens for [best] in beam_search(ours, SRC, search)]
    for tokens, sentence in zip(found, SRC, strict=True):
        src = sentence[sentence != PAD][None]
        length = src.size(1) + 2
        settings = {"length_penalty": 0.0} if beam_size > 1 else {}
        settings |= {"num_beams": beam_size, "max_new_tokens": length}
        assert [tokens] == generated(theirs, src, **settings)
        assert len(tokens) == length
    if beam_size == 5:
        assert found != [h.tokens for h in greedy(ours, SRC, Search(extra_length=2))]

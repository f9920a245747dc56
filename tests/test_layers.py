from contextlib import nullcontext

import pytest
import torch
from torch import nn

from annotated_transformer.batches import padding_mask
from annotated_transformer.errors import InputError
from annotated_transformer.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from annotated_transformer.masking import causal_mask, target_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from oracles import (
    BOTH_DTYPES,
    BOTH_WAYS,
    assert_close,
    assert_same_gradients,
    hidden,
    layer_pairs,
    randomise,
    weigh,
)

SRC = torch.tensor([[5, 6, 7, 8, 2], [5, 6, 2, 0, 0]])
TGT = torch.tensor([[1, 6, 7, 0], [1, 6, 7, 8]])
NORMS = ["post", "pre"]


def encoder_layer(norm, dropout=0.0):
    return randomise(
        EncoderLayer(
            MultiHeadAttention(8, 2), FeedForward(8, 12), lambda: Residual(8, dropout, norm)
        )
    )


def decoder_layer(norm, dropout=0.0):
    attentions = MultiHeadAttention(8, 2), MultiHeadAttention(8, 2)
    return randomise(
        DecoderLayer(*attentions, FeedForward(8, 12), lambda: Residual(8, dropout, norm))
    )


def of_torch(kind, norm):
    return randomise(kind(8, 2, 12, dropout=0.0, batch_first=True, norm_first=norm == "pre"))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("carry", BOTH_WAYS)
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_layer_is_that_of_torch(norm, dtype, carry, training, causal):
    ours = encoder_layer(norm).to(dtype).train(training)
    theirs = of_torch(nn.TransformerEncoderLayer, norm).to(dtype).train(training)
    pairs = list(layer_pairs(ours, theirs))
    carry(pairs)
    x, is_word = torch.randn(2, 5, 8, dtype=dtype), SRC != 0
    order = causal_mask(5) if causal else torch.ones(1, 1, 5, 5, dtype=torch.bool)
    # In evaluation without gradients PyTorch takes another way, written in C++: prove it as well.
    with nullcontext() if training else torch.no_grad():
        output = ours(x, padding_mask(SRC) & order)[is_word]
        expected = theirs(x, hidden(order[0, 0]), hidden(is_word))[is_word]
    assert_close(output, expected)
    if training:
        weigh(output).backward()
        weigh(expected).backward()
        assert_same_gradients(pairs)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("carry", BOTH_WAYS)
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("norm", NORMS)
def test_a_decoder_layer_is_that_of_torch(norm, dtype, carry, training):
    ours = decoder_layer(norm).to(dtype).train(training)
    theirs = of_torch(nn.TransformerDecoderLayer, norm).to(dtype).train(training)
    pairs = list(layer_pairs(ours, theirs))
    carry(pairs)
    x, memory = torch.randn(2, 4, 8, dtype=dtype), torch.randn(2, 5, 8, dtype=dtype)
    output = ours(x, memory, target_mask(TGT), padding_mask(SRC))[TGT != 0]
    expected = theirs(
        x,
        memory,
        tgt_mask=hidden(causal_mask(4)[0, 0]),
        tgt_key_padding_mask=hidden(TGT != 0),
        memory_key_padding_mask=hidden(SRC != 0),
    )[TGT != 0]
    assert_close(output, expected)
    weigh(output).backward()
    weigh(expected).backward()
    assert_same_gradients(pairs)


@pytest.mark.parametrize("norm", NORMS)
def test_a_decoder_layer_step_by_step_is_the_layer_at_once(norm):
    layer = decoder_layer(norm).double()
    x, memory = torch.randn(2, 4, 8).double(), torch.randn(2, 5, 8).double()
    expected = layer(x, memory, causal_mask(4), padding_mask(SRC))
    projected = layer.cross_attention.project(memory, memory)
    past = tuple(part[:, :, :0] for part in layer.self_attention.project(x, x))
    for t in range(4):
        output, past = layer.step(x[:, t : t + 1], past, projected, padding_mask(SRC))
        assert_close(output[:, 0], expected[:, t])
        assert [part.size(2) for part in past] == [t + 1, t + 1]


def test_the_feed_forward_network_works_at_each_position_by_itself():
    network, x = randomise(FeedForward(4, 6)).double(), torch.randn(2, 3, 4).double()
    output = network(x)
    for b in range(2):
        for t in range(3):
            inner = network.inner.weight @ x[b, t] + network.inner.bias
            inner = torch.stack([max(number, number * 0) for number in inner])
            assert_close(output[b, t], network.outer.weight @ inner + network.outer.bias)


@pytest.mark.parametrize("norm", NORMS)
def test_dropout_stands_on_what_the_sub_layer_adds_and_nowhere_else(norm):
    residual, x = Residual(50, 0.5, norm), torch.randn(2, 3, 50)
    residual.norm = nn.Identity()
    # Of what is added, half is dropped and half is doubled; the shortcut stays as it is.
    assert set((residual(x, torch.ones_like) - x).round(decimals=4).unique().tolist()) == {0.0, 2.0}
    assert_close(residual.eval()(x, torch.ones_like), x + 1)


@pytest.mark.parametrize("make", [encoder_layer, decoder_layer])
def test_without_dropout_training_and_evaluation_are_the_same(make):
    x, mask = torch.randn(2, 4, 8), causal_mask(4)
    rest = (x, mask, padding_mask(TGT)) if make is decoder_layer else (mask,)
    layer = make("post")
    assert torch.equal(layer.train()(x, *rest), layer.eval()(x, *rest))
    dropping = make("post", dropout=0.5)
    assert not torch.allclose(dropping.train()(x, *rest), dropping.eval()(x, *rest))


def test_an_unknown_norm_is_refused(monkeypatch):
    # The check of types, which runs in tests alone, would refuse it before the layer does.
    monkeypatch.setattr("jaxtyping.config.jaxtyping_disable", True)
    with pytest.raises(InputError, match="norm is 'middle', it must be 'post' or 'pre'"):
        Residual(8, 0.0, "middle")

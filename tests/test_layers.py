import math
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from annotated_transformer.ground.errors import InputError
from annotated_transformer.layers import (
    NORMS,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Residual,
    make_norm,
)
from annotated_transformer.masking import causal_mask, padding_mask, target_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from oracles import (
    BOTH_DTYPES,
    assert_close,
    assert_same_gradients,
    hidden,
    layer_pairs,
    randomise,
    to_ours,
    weigh,
)

SRC = torch.tensor([[5, 6, 7, 8, 2], [5, 6, 2, 0, 0]])
TGT = torch.tensor([[1, 6, 7, 0], [1, 6, 7, 8]])
POSITIONS = ["post", "pre"]


def encoder_layer(position, norm="layer", dropout=0.0):
    return randomise(
        EncoderLayer(
            MultiHeadAttention(8, 2),
            FeedForward(8, 12),
            lambda: Residual(8, dropout, position, norm),
        )
    )


def decoder_layer(position, norm="layer", dropout=0.0):
    attentions = MultiHeadAttention(8, 2), MultiHeadAttention(8, 2)
    return randomise(
        DecoderLayer(*attentions, FeedForward(8, 12), lambda: Residual(8, dropout, position, norm))
    )


def at_once(layer, x, memory, mask, memory_mask):
    """What a decoder layer makes of a whole sentence, before which there was nothing."""
    projected = layer.cross_attention.project(memory, memory)
    return layer(x, layer.self_attention.empty(len(x)), mask, projected, memory_mask)[0]


def of_torch(kind, position):
    first = position == "pre"
    return randomise(kind(8, 2, 12, dropout=0.0, batch_first=True, norm_first=first))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_layer_is_that_of_torch(position, dtype, training, causal):
    ours = encoder_layer(position).to(dtype).train(training)
    theirs = of_torch(nn.TransformerEncoderLayer, position).to(dtype).train(training)
    pairs = list(layer_pairs(ours, theirs))
    to_ours(pairs)
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
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("position", POSITIONS)
def test_a_decoder_layer_is_that_of_torch(position, dtype, training):
    ours = decoder_layer(position).to(dtype).train(training)
    theirs = of_torch(nn.TransformerDecoderLayer, position).to(dtype).train(training)
    pairs = list(layer_pairs(ours, theirs))
    to_ours(pairs)
    x, memory = torch.randn(2, 4, 8, dtype=dtype), torch.randn(2, 5, 8, dtype=dtype)
    output = at_once(ours, x, memory, target_mask(TGT), padding_mask(SRC))[TGT != 0]
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


@pytest.mark.parametrize("cuts", [(1, 2, 3, 4), (1, 4), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("position", POSITIONS)
def test_a_decoder_layer_in_parts_of_any_size_is_the_layer_at_once(position, norm, cuts):
    layer = decoder_layer(position, norm).double()
    x, memory = torch.randn(2, 4, 8).double(), torch.randn(2, 5, 8).double()
    expected = at_once(layer, x, memory, causal_mask(4), padding_mask(SRC))
    projected = layer.cross_attention.project(memory, memory)
    past, start = layer.self_attention.empty(2), 0
    for end in cuts:
        mask, before = causal_mask(end, start), past
        output, past = layer(x[:, start:end], past, mask, projected, padding_mask(SRC))
        assert_close(output, expected[:, start:end])
        assert (before.length, past.length) == (start, end)
        assert torch.equal(past.keys[:, :, :start], before.keys)
        assert torch.equal(past.values[:, :, :start], before.values)
        start = end


@pytest.mark.parametrize(
    ("activation", "bend"),
    [("relu", lambda z: max(z, z * 0)), ("swish", lambda z: z / (1 + (-z).exp()))],
)
def test_the_feed_forward_network_works_at_each_position_by_itself(activation, bend):
    network, x = randomise(FeedForward(4, 6, activation)).double(), torch.randn(2, 3, 4).double()
    output = network(x)
    for b in range(2):
        for t in range(3):
            inner = network.inner.weight @ x[b, t] + network.inner.bias
            inner = torch.stack([bend(number) for number in inner])
            assert_close(output[b, t], network.outer.weight @ inner + network.outer.bias)


def test_an_unknown_activation_is_refused():
    with pytest.raises(InputError, match="activation is 'tanh', it must be one of relu, swish"):
        FeedForward(4, 6, "tanh")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("position", POSITIONS)
def test_dropout_stands_on_what_the_sub_layer_adds_and_nowhere_else(position, norm):
    residual, x = Residual(50, 0.5, position, norm), torch.randn(2, 3, 50)
    residual.norm = nn.Identity()
    # Of what is added, half is dropped and half is doubled; the shortcut stays as it is.
    assert set((residual(x, torch.ones_like) - x).round(decimals=4).unique().tolist()) == {0.0, 2.0}
    assert_close(residual.eval()(x, torch.ones_like), x + 1)


def by_hand(name, norm, x):
    """Normalise one vector number by number: the formulas of Ba et al. and Zhang and Sennrich."""
    numbers, eps = x.tolist(), norm.eps or torch.finfo(x.dtype).eps
    mean = sum(numbers) / len(numbers) if name == "layer" else 0.0
    size = math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers) + eps)
    shift = norm.bias.tolist() if name == "layer" else [0.0] * len(numbers)
    return torch.tensor(
        [
            factor * (number - mean) / size + add
            for number, factor, add in zip(numbers, norm.weight.tolist(), shift, strict=True)
        ],
        dtype=x.dtype,
    )


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("position", POSITIONS)
def test_a_residual_connection_is_its_formula(position, name):
    residual, x = Residual(6, 0.0, position, name), torch.randn(2, 4, 6).double()
    residual, sublayer = randomise(residual).double(), randomise(nn.Linear(6, 6)).double()
    output = residual(x, sublayer)
    for b in range(2):
        for t in range(4):
            if position == "pre":
                expected = x[b, t] + sublayer(by_hand(name, residual.norm, x[b, t]))
            else:
                expected = by_hand(name, residual.norm, x[b, t] + sublayer(x[b, t]))
            assert_close(output[b, t], expected)


def test_an_unknown_norm_or_place_for_it_is_refused():
    with pytest.raises(InputError, match="norm_position is 'middle', it must be one of post, pre"):
        Residual(8, 0.0, "middle")
    for make in (lambda: Residual(8, 0.0, "pre", "batch"), lambda: make_norm("batch", 8)):
        with pytest.raises(InputError, match="norm is 'batch', it must be one of layer, rms"):
            make()


@pytest.mark.parametrize("position", POSITIONS)
def test_without_cross_attention_it_is_an_encoder_layer_that_may_not_look_ahead(position):
    ours, theirs = encoder_layer(position).double(), decoder_layer(position).double()
    alone = DecoderLayer(
        ours.self_attention, None, ours.feed_forward, lambda: Residual(8, 0.0, position)
    ).double()
    alone.residual_1, alone.residual_3 = ours.residual_1, ours.residual_2
    assert not hasattr(alone, "residual_2")
    x, empty = torch.randn(2, 4, 8).double(), ours.self_attention.empty(2)
    assert_close(alone(x, empty, causal_mask(4))[0], ours(x, causal_mask(4)), 1e-12)
    memory = theirs.cross_attention.project(x, x)
    for layer, given in ((alone, memory), (theirs, None)):
        with pytest.raises(InputError, match="memory must be given exactly if the layer has"):
            layer(x, empty, causal_mask(4), given)

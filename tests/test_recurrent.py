import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from annotated_transformer.errors import InputError
from annotated_transformer.recurrent import RecurrentLayer
from oracles import (
    BOTH_DTYPES,
    BOTH_WAYS,
    assert_close,
    assert_same_gradients,
    randomise,
    recurrent_pairs,
    to_ours,
    weigh,
)

LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
LENGTHS = [4, 6, 1]


def packed(layer, x, lengths):
    """The library's way to leave padding out."""
    sequence = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, state = layer(sequence)
    return pad_packed_sequence(output, batch_first=True)[0], state


def side_by_side(state, direction):
    """The library keeps h and c of an LSTM apart."""
    parts = state if isinstance(state, tuple) else (state,)
    return torch.cat([part[direction] for part in parts], dim=-1)


@pytest.mark.parametrize("carry", BOTH_WAYS)
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_over_padded_sentences_is_that_of_torch_over_packed_ones(name, dtype, carry):
    theirs = randomise(LAYERS[name](3, 5, batch_first=True, bidirectional=True).to(dtype))
    x = torch.randn(3, 6, 3, dtype=dtype)
    is_word = torch.arange(6) < torch.tensor(LENGTHS)[:, None]
    both = [randomise(RecurrentLayer(name, 3, 5, backward=b).to(dtype)) for b in (False, True)]
    pairs = [
        pair
        for layer, suffix in zip(both, ("", "_reverse"), strict=True)
        for pair in recurrent_pairs(layer.cell, theirs, suffix)
    ]
    carry(pairs)
    expected, state = packed(theirs, x, LENGTHS)
    halves = [layer(x, is_word) for layer in both]
    output = torch.cat([half for half, _ in halves], dim=-1)
    assert_close(output[is_word], expected[is_word])
    for direction, (_, last) in enumerate(halves):
        assert_close(last, side_by_side(state, direction))
    loss = weigh(output * is_word[..., None]) + sum(weigh(last) for _, last in halves)
    expected_loss = weigh(expected * is_word[..., None]) + sum(
        weigh(side_by_side(state, direction)) for direction in (0, 1)
    )
    loss.backward()
    expected_loss.backward()
    assert_same_gradients(pairs)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_a_given_state_is_where_the_walk_begins(name, backward):
    theirs = randomise(LAYERS[name](3, 5, batch_first=True).double())
    ours = RecurrentLayer(name, 3, 5, backward=backward).double()
    to_ours(recurrent_pairs(ours.cell, theirs))
    x, state = torch.randn(2, 4, 3).double(), torch.randn(2, ours.cell.states * 5).double()
    first = state[None]
    expected, _ = theirs(
        x.flip(1) if backward else x,
        tuple(part.contiguous() for part in first.chunk(2, dim=-1)) if name == "lstm" else first,
    )
    output, _ = ours(x, torch.ones(2, 4, dtype=torch.bool), state)
    assert_close(output.flip(1) if backward else output, expected)


def test_an_unknown_cell_is_refused():
    with pytest.raises(InputError, match="cell is 'GRU', it must be one of rnn, gru, lstm"):
        RecurrentLayer("GRU", 3, 5)

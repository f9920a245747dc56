import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from annotated_transformer.ground.errors import InputError
from annotated_transformer.recurrent import RecurrentLayer
from oracles import (
    BOTH_DTYPES,
    assert_close,
    assert_same_gradients,
    randomise,
    recurrent_pairs,
    to_ours,
    weigh,
)

LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
LENGTHS = [4, 6, 1]


def packed(layer, x, lengths, first):
    """The library's way to leave padding out."""
    sequence = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    if first is not None and isinstance(layer, nn.LSTM):
        first = tuple(part.contiguous() for part in first.chunk(2, dim=-1))
    output, state = layer(sequence, first)
    return pad_packed_sequence(output, batch_first=True)[0], state


def side_by_side(state, direction):
    """The library keeps h and c of an LSTM apart."""
    parts = state if isinstance(state, tuple) else (state,)
    return torch.cat([part[direction] for part in parts], dim=-1)


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_over_padded_sentences_is_that_of_torch_over_packed_ones(name, dtype, begins):
    theirs = randomise(LAYERS[name](3, 5, batch_first=True, bidirectional=True).to(dtype))
    x = torch.randn(3, 6, 3, dtype=dtype)
    is_word = torch.arange(6) < torch.tensor(LENGTHS)[:, None]
    both = [RecurrentLayer(name, 3, 5, backward=b).to(dtype) for b in (False, True)]
    pairs = [
        pair
        for layer, suffix in zip(both, ("", "_reverse"), strict=True)
        for pair in recurrent_pairs(layer.cell, theirs, suffix)
    ]
    to_ours(pairs)
    first = torch.randn(2, 3, both[0].cell.states * 5, dtype=dtype) if begins else None
    expected, state = packed(theirs, x, LENGTHS, first)
    given = [None, None] if first is None else first
    halves = [layer(x, is_word, state) for layer, state in zip(both, given, strict=True)]
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


def test_an_unknown_cell_is_refused():
    with pytest.raises(InputError, match="cell is 'GRU', it must be one of rnn, gru, lstm"):
        RecurrentLayer("GRU", 3, 5)

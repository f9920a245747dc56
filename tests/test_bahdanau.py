import pytest
import torch
from torch import nn

from annotated_transformer.bahdanau import Bahdanau, BidirectionalEncoder
from annotated_transformer.recurrent import CELLS
from annotated_transformer.seq2seq import RecurrentConfig
from oracles import assert_close, cell_of_torch, randomise

SRC = torch.tensor([[5, 6, 7, 8, 2], [5, 6, 2, 0, 0], [9, 2, 0, 0, 0]])
TGT = torch.tensor([[1, 6, 7, 0], [1, 6, 7, 8], [1, 0, 0, 0]])


def small(cell):
    return randomise(Bahdanau(RecurrentConfig(10, 11, 4, 5, cell))).double()


@pytest.mark.parametrize("name", CELLS)
def test_annotations_are_the_states_of_both_directions_side_by_side(name):
    encoder = randomise(BidirectionalEncoder(name, 4, 5)).double()
    x, is_word = torch.randn(3, 5, 4).double(), SRC != 0
    memory, first = encoder(x, is_word)
    for sentence, length in enumerate([5, 3, 2]):
        for half, layer, order in (
            (slice(0, 5), encoder.forwards, range(length)),
            (slice(5, 10), encoder.backwards, reversed(range(length))),
        ):
            walk = cell_of_torch(layer.cell)
            state = torch.zeros(5 * layer.cell.states).double()
            for t in order:
                state = walk(x[sentence, t], state)
                assert_close(memory[sentence, t, half], state[:5])
        assert_close(first[sentence], state[:5])


@pytest.mark.parametrize("name", CELLS)
def test_logits_are_those_of_a_plain_loop_over_each_sentence_alone(name):
    model = small(name)
    logits = model(SRC, TGT)
    write, attention = cell_of_torch(model.decoder), model.attention
    for sentence, length in enumerate([5, 3, 2]):
        words = model.src_embedding.weight[SRC[sentence, :length]][None]
        memory, first = model.encoder(words, torch.ones(1, length, dtype=torch.bool))
        state = torch.tanh(model.bridge(first[0]))
        for t, token in enumerate(TGT[sentence][TGT[sentence] != 0]):
            # The state before the word asks; what it finds helps to form the state after.
            fits = [
                attention.v.weight[0]
                @ torch.tanh(attention.query.weight @ state[:5] + attention.key.weight @ h)
                for h in memory[0]
            ]
            context = nn.functional.softmax(torch.stack(fits), dim=0) @ memory[0]
            word = model.tgt_embedding.weight[token]
            state = write(torch.cat([word, context]), state)
            inner = torch.tanh(model.readout(torch.cat([state[:5], context, word])))
            assert_close(logits[sentence, t], model.output(inner))

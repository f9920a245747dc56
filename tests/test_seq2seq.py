import pytest
import torch

from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from oracles import assert_close, cell_of_torch, randomise

SRC = torch.tensor([[5, 6, 7, 8, 2], [5, 6, 2, 0, 0], [9, 2, 0, 0, 0]])
TGT = torch.tensor([[1, 6, 7, 0], [1, 6, 7, 8], [1, 0, 0, 0]])


def small(cell, **changes):
    config = RecurrentConfig(10, 11, d_model=4, hidden_dim=5, cell=cell, **changes)
    return randomise(Seq2Seq(config)).double()


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_logits_are_those_of_a_plain_loop_over_each_sentence_alone(name):
    model = small(name)
    logits = model(SRC, TGT)
    read, write = cell_of_torch(model.encoder.cell), cell_of_torch(model.decoder.cell)
    for sentence in range(3):
        state = torch.zeros(5 * model.encoder.cell.states).double()
        for token in SRC[sentence][SRC[sentence] != 0]:
            state = read(model.src_embedding.weight[token], state)
        context = state[:5]
        state = torch.tanh(model.bridge(context))
        for t, token in enumerate(TGT[sentence][TGT[sentence] != 0]):
            word = model.tgt_embedding.weight[token]
            state = write(torch.cat([word, context]), state)
            inner = torch.tanh(model.readout(torch.cat([state[:5], context, word])))
            assert_close(logits[sentence, t], model.output(inner))


def test_the_context_is_all_that_the_decoder_knows_of_the_source():
    state = small("lstm").start(SRC)
    assert {name: tensor.shape for name, tensor in vars(state).items()} == {
        "context": (3, 5),
        "decoder": (3, 10),
    }

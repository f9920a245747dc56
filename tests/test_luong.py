import math

import pytest
import torch
from torch import nn

from annotated_transformer.luong import SCORES, Luong, LuongConfig
from annotated_transformer.recurrent import CELLS
from oracles import assert_close, cell_of_torch, randomise

SRC = torch.tensor([[5, 6, 7, 8, 2], [5, 6, 2, 0, 0], [9, 2, 0, 0, 0]])
TGT = torch.tensor([[1, 6, 7, 0], [1, 6, 7, 8], [1, 0, 0, 0]])


def small(cell="gru", score="general"):
    return randomise(Luong(LuongConfig(10, 11, 4, 5, cell, score=score))).double()


def by_hand(score, attention, s, h):
    """The three scores of Luong et al. 2015, section 3.1, of one state and one annotation."""
    if score == "dot":
        return sum(a * b for a, b in zip(s, h, strict=True))
    if score == "general":
        turned = [sum(w * x for w, x in zip(row, h, strict=True)) for row in attention.key.weight]
        return sum(a * b for a, b in zip(s, turned, strict=True))
    w_a, pair = torch.cat([attention.query.weight, attention.key.weight], dim=1), torch.cat([s, h])
    return sum(
        v * math.tanh(row.dot(pair)) for v, row in zip(attention.v.weight[0], w_a, strict=True)
    )


@torch.no_grad()
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("score", SCORES)
def test_logits_are_those_of_a_plain_loop_over_each_sentence_alone(score, name):
    model = small(name, score)
    logits = model(SRC, TGT)
    read, write = cell_of_torch(model.encoder.cell), cell_of_torch(model.decoder.cell)
    for sentence in range(3):
        state, memory = torch.zeros(5 * model.encoder.cell.states).double(), []
        for token in SRC[sentence][SRC[sentence] != 0]:
            state = read(model.src_embedding.weight[token], state)
            memory.append(state[:5])
        for t, token in enumerate(TGT[sentence][TGT[sentence] != 0]):
            state = write(model.tgt_embedding.weight[token], state)
            fits = torch.stack([by_hand(score, model.attention, state[:5], h) for h in memory])
            context = nn.functional.softmax(fits, dim=0) @ torch.stack(memory)
            attentional = torch.tanh(model.readout(torch.cat([context, state[:5]])))
            assert_close(logits[sentence, t], model.output(attentional))

import torch
from torch import nn

from annotated_transformer import toy
from annotated_transformer.batches import Batch
from annotated_transformer.luong import DotAttention, GeneralAttention, Luong, LuongConfig
from transformer_workbook.chapters.luong import proofs
from transformer_workbook.notebook import ToyTask

TASK = ToyTask.of({"train": list(toy.EXAMPLES)})
BATCH = Batch.of(TASK.examples("train"))


class Transposed(GeneralAttention):
    def keys(self, memory):
        return memory @ self.key.weight


class Swapped(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mix = nn.Linear(2 * d, d)

    def forward(self, s, h, mask):
        context = DotAttention()(s, h, h, mask[:, None])
        return torch.tanh(self.mix(torch.cat([s, context], dim=-1))), None


def build():
    return TASK.build(Luong, LuongConfig)


def attend():
    proofs.attend(Swapped)


def scores():
    proofs.scores(DotAttention, Transposed)


def whole():
    model = build()
    logits = torch.zeros(*BATCH.tgt_in.shape, model.config.tgt_vocab)
    modules = [model.get_submodule(name) for name in proofs.MODULES]
    proofs.whole(modules, TASK, BATCH, logits)


def misses():
    proofs.misses(build(), TASK)


REFUTED = {
    attend: "those of your class differs from the attentional states of a loop",
    scores: "of your class differs from general: the scores and contexts of a loop",
    whole: "those of your modules differs from the logits of the formulas",
    misses: "this is not true: ",
}

import torch

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


def build():
    return TASK.build(Luong, LuongConfig)


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
    scores: "of your class differs from general: the scores and contexts of a loop",
    whole: "those of your modules differs from the logits of the formulas",
    misses: "this is not true: ",
}

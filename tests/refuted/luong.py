"""What the proofs of chapter 4 must refuse."""

from dataclasses import replace

import torch

from annotated_transformer import toy
from annotated_transformer.batches import Batch
from annotated_transformer.luong import DotAttention, GeneralAttention, Luong, LuongConfig
from transformer_workbook.notebook import ToyTask
from transformer_workbook.proofs import luong as proofs

TASK = ToyTask.of({"train": list(toy.EXAMPLES)})
BATCH = Batch.of(TASK.examples("train"))


class Transposed(GeneralAttention):
    def keys(self, memory):
        return memory @ self.key.weight


class ConstantKeys(Luong):
    def start(self, src):
        state = super().start(src)
        return replace(state, keys=state.keys.detach())


def build(model=Luong, **choices):
    return TASK.build(model, LuongConfig, **choices)


def two_projections():
    proofs.two_projections(Transposed)


def scores():
    proofs.scores(DotAttention, Transposed)


def parts():
    model = build()
    names = "src_embedding tgt_embedding encoder decoder attention readout output".split()  # noqa: SIM905
    logits = torch.zeros(*BATCH.tgt_in.shape, model.config.tgt_vocab)
    proofs.parts({name: model.get_submodule(name) for name in names}, build(), BATCH, logits)


def gradient_through_scores():
    proofs.gradient_through_scores(build(ConstantKeys, score="dot"), BATCH)


def misses():
    proofs.misses(build(), TASK)


REFUTED = {
    two_projections: "W_a = W_Qᵀ W_K differs from (W_Q s)ᵀ (W_K h)",
    scores: "your class differs from general: a loop",
    parts: "your parts differs from the formulas",
    gradient_through_scores: "this is not true: with dot, a gradient reaches",
    misses: "this is not true: ",
}

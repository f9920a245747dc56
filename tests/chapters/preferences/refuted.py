import torch

from annotated_transformer.lora import LoRALinear, merge_lora
from transformer_workbook.chapters.preferences import proofs
from transformer_workbook.exercises import preferences as lesson


def dpo():
    proofs.dpo(lambda *numbers: 2 * lesson.preference_loss.reference(*numbers))


def promised():
    proofs.promised(torch.tensor([0.5, 0.5]), torch.tensor([0.4, 0.6]))


def adapted():
    class Louder(LoRALinear):
        def forward(self, x):
            return self.layer(x) + 2 * self.scale * (x @ self.A.T @ self.B.T)

    proofs.adapted(Louder)


def merging():
    def subtracted(model):
        model[0].scale = -model[0].scale
        merge_lora(model)

    layers = torch.nn.Sequential(LoRALinear(torch.nn.Linear(4, 4), 2))
    proofs.merging(layers, torch.randn(3, 4), subtracted)


REFUTED = {
    dpo: "TRL's formula by hand differs from your loss, β = 0.1 by",
    promised: "the reference, weighted by exp(r / β) differs from what DPO found by",
    merging: "merged differs from the layers beside each other by",
    adapted: "the package's differs from your layer by",
}

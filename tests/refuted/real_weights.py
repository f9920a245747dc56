"""What the proofs of chapter 21 must refuse."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from annotated_transformer.exchange import load_model
from transformer_workbook.proofs import real_weights as proofs

FOLDER = Path(__file__).resolve().parents[2] / "book" / "records" / "small_bert"


def stored_the_other_way():
    stored, x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 2.0]])
    proofs.stored_the_other_way(stored, x, F.linear(x, stored))


def hidden_states():
    model = load_model(FOLDER).double()
    for layer in model.encoder:
        layer.residual_1.norm.eps = 0.01
    proofs.hidden_states(model, FOLDER)


def vectors():
    written = load_file(FOLDER / "hidden_states.safetensors")
    states, ids = written["after layer 4"].double(), written["ids"]
    means = states.mean(dim=1)  # over padding, too
    proofs.vectors(means / means.norm(dim=1, keepdim=True), states, ids)


REFUTED = {
    stored_the_other_way: "your x W differs from nn.Linear with the transposed matrix",
    hidden_states: "your class differs from Hugging Face's class",
    vectors: "your vectors differs from each sentence alone",
}

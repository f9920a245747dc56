import torch
from torch.nn import functional as F

from annotated_transformer.exchange import load_model
from transformer_workbook.chapters.real_weights import proofs
from transformer_workbook.places import course_file

FOLDER = course_file("records/small_bert")


def stored_the_other_way():
    stored, x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 2.0]])
    proofs.stored_the_other_way(stored, x, F.linear(x, stored))


def hidden_states():
    model = load_model(FOLDER).double()
    for layer in model.encoder:
        layer.residual_1.norm.eps = 0.01
    proofs.hidden_states(model, FOLDER)


REFUTED = {
    stored_the_other_way: "your x W differs from nn.Linear with the transposed matrix",
    hidden_states: "your class differs from Hugging Face's class",
}

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from annotated_transformer.exchange import load_model
from transformer_workbook.chapters.real_weights import proofs
from transformer_workbook.places import course_file

FOLDER = course_file("records/small_bert")


def stored_the_other_way():
    stored, x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 2.0]])
    proofs.stored_the_other_way(stored, x, F.linear(x, stored))


def hidden_states():
    written = load_file(FOLDER / "hidden_states.safetensors")
    states = written["after layer 4"]  # with other segments than those that a model takes by itself
    proofs.hidden_states(load_model(FOLDER), {"ids": written["ids"], "states": states[None]})


REFUTED = {
    stored_the_other_way: "your x W differs from nn.Linear with the transposed matrix",
    hidden_states: "the package differs from Hugging Face's class",
}

import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.tokens import EOS
from transformer_workbook.chapters.from_predicting_to_following import proofs


def loss_on_answers():
    """The loss leaves out EOS."""
    model, dialogues = nn.Embedding(10, 10, dtype=torch.float64), [([5, 6, 7], [8, 9])]
    logits = model(torch.tensor([[5, 6, 7, 8]]))[0, 2:]
    assert EOS not in dialogues[0][1]
    proofs.loss_on_answers(F.cross_entropy(logits, torch.tensor([8, 9])), model, dialogues)


REFUTED = {loss_on_answers: "the mean over 3 tokens of answers differs from your loss by"}

import torch

from annotated_transformer.batches import Batch
from annotated_transformer.masking import causal_mask
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.chapters.masking import proofs

TEST = [([5, 6], [7, 8]), ([7, 5, 6], [8])]
BATCH = Batch.of(TEST)


class Careless(Transformer):
    """Its encoder takes padding for words."""

    def encode(self, src):
        return super().encode(src.clamp(min=1))


def model():
    return Transformer(TransformerConfig.tiny(12, 12, num_layers=1, dropout=0.0))


def large_hidden_score():
    proofs.large_hidden_score(torch.zeros(3, 3), torch.ones(3, 3).bool())


def padding():
    proofs.padding(Careless)


def peeking():
    verdict = 1.0, 0, 0
    proofs.peeking([verdict, verdict], model(), TEST, torch.ones(3))


def causality():
    one, nothing = model(), torch.zeros(3).bool()
    proofs.causality({"causal": one, "peeking": one}, lambda *_: nothing, BATCH)


def one_call():
    logits = torch.zeros(1, 2, 12)
    proofs.one_call(model(), torch.tensor([[5, 6]]), [1, 7, 2], logits)


def in_a_transformer():
    proofs.in_a_transformer(Transformer, BATCH, causal_mask(3).expand(2, 1, 3, 3))


REFUTED = {
    large_hidden_score: "the row masked before the softmax differs from ½, ½, 0",
    padding: "those with padding differs from the logits of a sentence alone",
    peeking: "this is not true: the peeking model has the lower validation loss",
    causality: "this is not true: with the causal mask, the logits at that word",
    one_call: "those of one call differs from the logits of a call for each word",
    in_a_transformer: "this is not true: exactly the weights that these masks forbid are 0",
}

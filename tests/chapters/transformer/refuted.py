import torch

from annotated_transformer.batches import Batch
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.chapters.transformer import proofs

SENTENCES = [([4, 5], [4]), ([4], [4, 5, 6])]


def model():
    return Transformer(TransformerConfig.tiny(8, 8, dropout=0.0))


def exchanged(model, src, tgt_in):
    return model(src.flip(0), tgt_in)


def pencil():
    proofs.pencil(torch.eye(3, 2), torch.ones(2), torch.eye(4, 2), torch.ones(3, 2), torch.ones(4))


def whole_pass():
    proofs.whole_pass(exchanged, model(), Batch.of(SENTENCES))


def base_model():
    proofs.base_model({"attentions": 62_980_000, "networks": 1, "table": 1})


def dependencies():
    everything = torch.ones(13, 22, dtype=torch.bool)
    proofs.dependencies(dict.fromkeys(("correct", "missing mask", "source ignored"), everything))


def first_loss():
    proofs.first_loss([5.0, 5.1, 4.9], vocab=148)


def same_as_torch():
    proofs.same_as_torch(exchanged, model(), model(), Batch.of(SENTENCES))


def findings():
    proofs.findings({"correct": {"count": True}}, {}, Batch.of(SENTENCES))


def shuffled():
    bag = lambda model, src, tgt_in: src.double().mean()  # noqa: E731
    proofs.shuffled(lambda name: (bag, None), Batch.of([(list(range(3, 11)), [4])]))


REFUTED = {
    pencil: "the memory computed by hand differs from the memory of the package",
    whole_pass: "yours differs from the logits of the package",
    base_model: "this is not true: each part has as many",
    dependencies: "this is not true: the correct model depends on the whole source",
    first_loss: "this is not true: the loss of the models is half a nat above",
    same_as_torch: "this is not true: without its two norms",
    findings: "this is not true: the correct model and the one",
    shuffled: "this is not true: when the source is permuted",
}

import torch

from annotated_transformer.batches import Batch
from annotated_transformer.toy import Pair
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.chapters.what_heads_do import proofs

NAME = "decoder.0.self_attention"
TEST = [([5, 6, 7], [8, 9, 8, 9]), ([9, 8], [7])]


def model():
    return Transformer(TransformerConfig.tiny(12, 12)).eval()


def zero_ablation():
    mine, batch = model(), Batch.of(TEST)

    def loss():
        return mine(batch.src, batch.tgt_in).mean().item()

    proofs.zero_ablation(mine, {NAME: torch.ones(2, 4, 5, 5)}, loss, lambda name, h, new: loss())


def largest_effect():
    proofs.largest_effect(model(), TEST, {(NAME, 0): 0.2, (NAME, 1): 0.1}, share=0.0)


def collects_endings():
    tgt = ("a", "b", "a")
    pair = Pair(src=tgt, tgt=tgt, gloss=tgt, alignment=frozenset(), depth=0, template="")
    copies = torch.eye(4)
    copies[3] = torch.tensor([0.0, 1.0, 0.0, 0.0])  # the second "a" attends to the first
    proofs.collects_endings(copies[None], torch.ones(1, 4).bool(), [pair])


REFUTED = {
    zero_ablation: "those with its weights set to zero differs from the losses with a head's",
    largest_effect: "this is not true: zero ablation of one head",
    collects_endings: "this is not true: a repeated morpheme gives its earlier",
}

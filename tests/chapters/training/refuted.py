import torch
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.training import Trainer
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.chapters.training import proofs

SIZES = {"d_model": 8, "num_layers": 1, "num_heads": 1, "d_ff": 8, "dropout": 0.0}


def small_model():
    torch.manual_seed(0)
    return Transformer(TransformerConfig(9, 9, **SIZES))


class NeverClips:
    def __init__(self, model, loss, schedule, clip):
        optimizer = proofs.Adam(model.parameters())
        self.trainer = Trainer(model, loss, schedule, optimizer=optimizer, clip=None)

    def update(self, parts):
        return self.trainer.update(parts)[0]


def smoothing():
    mean = lambda logits, target, eps: F.cross_entropy(logits.mT, target)  # noqa: E731
    proofs.smoothing(mean, vocab=148)


def accumulation():
    def of_means(model, loss, parts):
        for part in parts:
            (loss(model(part.src, part.tgt_in), part.tgt_out) / part.num_tokens).backward()

    cut = [Batch.of([([4], [5])]), Batch.of([([4, 5], [6, 7, 8])])]
    proofs.accumulation(of_means, small_model(), cut, Batch.of([([4], [5]), ([4, 5], [6, 7, 8])]))


def noise():
    proofs.noise(small_model(), [([4], [5])] * 1024)


def adam():
    proofs.adam(lambda gradients, beta1, beta2: -gradients.sign())


def schedule():
    proofs.schedule(lambda peak, warmup: lambda step: peak)


def trainer():
    examples = [([4, 5, 6], [4 + i % 5]) for i in range(60)]
    proofs.trainer(NeverClips, Trainer, small_model, examples)


def learning_curve():
    levels = {"knows nothing": 5.0, "knows frequencies": 4.0}
    checks = {0: 5.5, 50: 3.5, 400: 1.0}
    proofs.learning_curve(small_model(), [4.0] * 400, checks, levels, Batch.of([([4], [5])]))


def six_curves():
    proofs.six_curves(dict.fromkeys("ABCDEF", ([1.0] * 200, [1.0] * 10)))


REFUTED = {
    smoothing: "those of your function differs from the losses with q written out",
    accumulation: "the sum over its micro-batches differs from the gradient of the whole batch",
    noise: "this is not true: from 4 to 16 sentences, and from 16 to 64, the error",
    adam: "60 of your steps differs from 60 steps of torch.optim.Adam",
    schedule: "yours differs from the paper's rates in the first 20,000 steps",
    trainer: "those of your class differs from losses and parameters of plain PyTorch",
    learning_curve: "this is not true: without smoothing and dropout",
    six_curves: "this is not true: each of the six curves does what the solution says",
}

import torch
from torch import nn

from annotated_transformer import recurrent, toy
from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from transformer_workbook.chapters.seq2seq import proofs
from transformer_workbook.notebook import ToyTask

STUDENT, ROBOT = toy.EXAMPLES
TASK = ToyTask.of({"train": [STUDENT], "test": [ROBOT]})
EXAMPLES = [([5, 6, 7, 8], [5, 6, 7, 8, 9, 10, 11, 5, 6, 7]), ([8], [7])]


class Forgetful(nn.Module):
    """A cell that takes z for what is new."""

    def __init__(self, input_dim, hidden_dim):
        super().__init__()
        self.cell = recurrent.GRUCell(input_dim, hidden_dim)
        self.read, self.recur = self.cell.read, self.cell.recur

    def state_dict(self):
        return self.cell.state_dict()

    def forward(self, x, h):
        z = torch.sigmoid((self.read(x) + self.recur(h)).chunk(3, dim=-1)[1])
        return h + self.cell(self.read(x), h) - z * h


class ReadsPadding(Seq2Seq):
    def start(self, src):
        x = self.src_embedding(src)
        context = self.encoder(x, torch.ones_like(src).bool())[1]
        return super().start(src).__class__(context, torch.tanh(self.bridge(context)))


def untrained(model=Seq2Seq):
    torch.manual_seed(0)
    return model(RecurrentConfig(12, 12))


def modules(model):
    return [model.get_submodule(name) for name in proofs.MODULES]


def gru_cell():
    proofs.gru_cell(Forgetful, recurrent.GRUCell)


def encoder():
    model, src = untrained(), torch.tensor([[5, 6, 2], [7, 2, 0]])

    def encode(src):
        return model.encoder(model.src_embedding(src), torch.ones_like(src).bool())[1]

    proofs.encoder(encode, src, model.src_embedding, model.encoder.cell)


def seq2seq():
    model = untrained()
    encode = lambda src: model.start(src).context  # noqa: E731
    step = lambda word, c, s: (torch.zeros(len(word), 12), s)  # noqa: E731
    proofs.seq2seq(encode, step, modules(model), untrained(), EXAMPLES)


def training():
    proofs.training(lambda *_, **__: [5.0] * 5, TASK)


def perplexity():
    proofs.perplexity(untrained(ReadsPadding), EXAMPLES)


def translation():
    proofs.translation(lambda *_: [], TASK.build(Seq2Seq, RecurrentConfig), TASK)


def teacher_forcing():
    proofs.teacher_forcing(untrained(), EXAMPLES)


REFUTED = {
    gru_cell: "of your cell differs from after five words the state of torch.nn.GRUCell",
    encoder: "those of your padded batch differs from the last states of a packed batch",
    seq2seq: "your logits differs from the logits of Seq2Seq",
    training: "those of your loop differs from the first five losses of train_briefly",
    perplexity: "the package's perplexity differs from the exponential of the mean loss",
    translation: "this is not true: your translate and the package's greedy search",
    teacher_forcing: "this is not true: at positions 6 to 10 the model is correct less often",
}

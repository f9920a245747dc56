import torch

from annotated_transformer.multi_head_attention import MultiHeadAttention
from transformer_workbook.chapters.multi_head_attention import proofs


class OneView(MultiHeadAttention):
    def split(self, x, num_heads=None):
        return x.reshape(len(x), self.num_heads, x.size(1), -1)


class Louder(MultiHeadAttention):
    """Its second head counts twice."""

    def gather(self, queries, seen, mask):
        return super().gather(queries, seen, mask) * torch.tensor([1.0, 2.0])[:, None, None]


class Biased(MultiHeadAttention):
    """Each head has a matrix more."""

    def __init__(self, d_model, num_heads, **sizes):
        super().__init__(d_model, num_heads, **sizes)
        self.more = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(num_heads))


def error(layer, count):
    x = torch.randn(count, 8, 16)
    return layer(x, x, x).square().mean()


def cuts():
    proofs.cuts(lambda x, heads: x.view(1, heads, 4, 3), lambda heads: heads.reshape(1, 4, 6))


def by_loop():
    matrices = *torch.randn(3, 2, 4, 2), torch.randn(4, 4)
    proofs.by_loop(MultiHeadAttention, torch.randn(1, 3, 4), matrices, torch.randn(1, 3, 4))


def multi_head():
    proofs.multi_head(MultiHeadAttention, OneView)


def twins():
    proofs.twins(Louder, error)


def costs():
    proofs.costs(Biased)


def one_output_matrix():
    heads = list(torch.randn(3, 1, 4, 2))
    output = torch.randn(1, 4, 6)
    proofs.one_output_matrix(heads, torch.randn(2, 6), [output / 2] * 2, output)


REFUTED = {
    cuts: "this is not true: with view and transpose, a change of the last word",
    by_loop: "that of your class differs from the output of the loop",
    multi_head: "the package differs from the outputs of PyTorch",
    twins: "those of one initialised alike differs from the gradients of a head",
    costs: "this is not true: one wide head and eight narrow ones",
    one_output_matrix: "this is not true: W^O has one row for each column",
}

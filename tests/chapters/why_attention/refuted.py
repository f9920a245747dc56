import torch
from torch import nn

from transformer_workbook.chapters.why_attention import proofs


def matrices(x, *_):
    """A layer of one product of matrices."""
    return x @ torch.eye(x.size(-1))


def recur_and_convolve():
    proofs.recur_and_convolve(matrices, matrices)


def operation_counts():
    proofs.operation_counts(lambda run, *arguments: 0, matrices, matrices, matrices)


def whole_layers():
    proofs.whole_layers(lambda run, *arguments: 0, matrices, matrices)


def sequential_operations():
    lengths = [[8, 16, 32]] * 2 + [[1] * 3, [2] * 3]
    proofs.sequential_operations(lambda step: 1, lengths, matrices, matrices)


def paths():
    proofs.paths(lambda n, hops: n, {"recurrent": range, "dense convolution": range})


def out_of_reach():
    proofs.out_of_reach({"dense convolutions": lambda: nn.Linear(32, 32)})


REFUTED = {
    recur_and_convolve: "that of recur differs from the output of nn.RNN",
    operation_counts: "this is not true: the counter finds 4n²d",
    whole_layers: "this is not true: the counter finds 2(4nd²",
    sequential_operations: "this is not true: that of the package's GRU also has n",
    paths: "this is not true: n, (n−1)/(k−1), log_k n",
    out_of_reach: "this is not true: only in the dense convolutions",
}

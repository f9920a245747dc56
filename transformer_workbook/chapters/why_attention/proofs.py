import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.recurrent import RecurrentLayer
from annotated_transformer.soft_lookup import SoftLookup
from transformer_workbook.notebook.proofs import agree, holds, proof
from transformer_workbook.places import course_file

Layer = Callable[..., Tensor]


@proof
def recur_and_convolve(recur: Layer, convolve: Layer) -> None:
    """The recurrent layer is nn.RNN, the convolution nn.Conv1d, with dilation and without."""
    x = torch.randn(2, 7, 4)
    rnn = nn.RNN(4, 4, bias=False, batch_first=True)
    mine = recur(x, rnn.weight_ih_l0.T, rnn.weight_hh_l0.T)
    agree(1e-12, {"the output of nn.RNN": rnn(x)[0], "that of recur": mine})
    for dilation in (1, 2):
        conv = nn.Conv1d(4, 4, 3, dilation=dilation, bias=False)
        theirs = conv(F.pad(x.mT, (2 * dilation, 0))).mT
        mine = convolve(x, conv.weight.permute(2, 1, 0).flip(0), dilation)  # own word first
        name = f"the output of nn.Conv1d with dilation {dilation}"
        agree(1e-12, {name: theirs, "that of convolve": mine})


@proof
def operation_counts(
    operations: Callable[..., int], attend: Layer, recur: Layer, convolve: Layer
) -> None:
    """The counter finds what the formulas say."""
    right = []
    for n, d, k in ((4, 3, 3), (20, 8, 5), (10, 30, 2), (1, 1, 1)):
        x, kernel, (W, U) = torch.randn(1, n, d), torch.randn(k, d, d), torch.randn(2, d, d)
        right.append(operations(attend, x, x, x) == 4 * n**2 * d)
        right.append(operations(recur, x, W, U) == 4 * n * d**2)
        right.append(operations(convolve, x, kernel) == 2 * k * n * d**2)
    claim = "the counter finds 4n²d for attend, 4nd² for recur and 2knd² for convolve, in 4 sizes"
    holds(claim, all(right))


@proof
def whole_layers(operations: Callable[..., int], attend: Layer, recur: Layer) -> None:
    """Attention needs fewer operations than a GRU below n = d, never fewer than a plain layer."""

    class WrittenOut(ScaledDotProductAttention):
        """Scores, softmax, sum: the fused form hides its products."""

        forward = SoftLookup.forward

    d, told, compared = 64, [], []
    for n, heads in ((4, 1), (16, 2), (64, 4), (256, 8), (1024, 1)):
        x, matrices, (W, U) = torch.randn(1, n, d), torch.randn(4, d, d), torch.randn(2, d, d)
        layer, gru = MultiHeadAttention(d, heads), nn.GRU(d, d)
        layer.attention = WrittenOut()
        with torch.no_grad():
            bare, real = operations(attend, x, x, x), operations(layer, x, x, x)
            by_hand = operations(lambda x=x, m=matrices: _complete(attend, x, m))
            plain, gated = operations(recur, x, W, U), operations(gru, x.transpose(0, 1))
        formulas = 2 * (4 * n * d**2 + 2 * n**2 * d), 4 * n * d**2, 12 * n * d**2
        told.append((real, plain, gated) == formulas and by_hand == real)
        compared.append((bare < plain) == (real < gated) == (n < d))
        compared.append((bare > plain) == (real > gated) == (n > d) and real > plain)
    holds("the counter finds 2(4nd² + 2n²d) for a multi-head layer and 12nd² for a GRU", all(told))
    holds("the layer needs fewer than the GRU exactly if n < d, and always more than a plain one",
          all(compared))  # fmt: skip


def _complete(attend: Layer, x: Tensor, matrices: Tensor) -> Tensor:
    W_Q, W_K, W_V, W_O = matrices
    return attend(x @ W_Q, x @ W_K, x @ W_V) @ W_O


@proof
def sequential_operations(
    critical_path: Callable[[Any], int],
    lengths: Sequence[Sequence[int]],
    attend: Layer,
    convolve: Layer,
) -> None:
    """The critical path has n products in recurrent layers, and does not grow with n in others."""
    d, matrices, kernel = 8, torch.randn(4, 8, 8), torch.randn(3, 8, 8)
    holds("the critical path has n products in both recurrent layers, 1 or 2 in the others",
          list(lengths) == [[8, 16, 32]] * 2 + [[1] * 3, [2] * 3])  # fmt: skip
    gru = RecurrentLayer("gru", d, d)
    gated, real, stacked = [], [], []
    for n in (8, 16, 32):
        x = torch.randn(1, n, d).requires_grad_()
        gated.append(critical_path(gru(x, torch.ones(1, n).bool())[0].grad_fn))
        real.append(critical_path(_complete(attend, x, matrices).grad_fn))
        for _ in range(4):
            x = convolve(x, kernel)
            stacked.append(critical_path(x.grad_fn))
    holds("that of the package's GRU also has n products", gated == [8, 16, 32])
    constant = real == [4] * 3 and stacked == [1, 2, 3, 4] * 3
    holds("more matrices and more layers lengthen the path; more words do not", constant)


@proof
def paths(path: Callable[..., int], ways: Mapping[str, Callable[[int], Any]]) -> None:
    """The paths are n, (n − 1) / (k − 1), log_k n, 1 and 2 (n − 1) / (r − 1), rounded up."""
    found, formulas = [], []
    for power, n in enumerate((9, 27, 81), start=2):
        found.append([path(n, way) for way in ways.values()])
        formulas.append([n, math.ceil((n - 1) / 2), power, 1, math.ceil((n - 1) / 4)])
    holds(
        "n, (n−1)/(k−1), log_k n, 1 and 2(n−1)/(r−1), rounded up, give these path lengths",
        found == formulas,
    )


@proof
def out_of_reach(middles: Mapping[str, Callable[[], Any]]) -> None:
    """From ten symbols on, no gradient of the dense convolutions reaches the first one."""
    silent = set()
    for name, make in middles.items():
        for n in (9, 10, 81):
            x = torch.randn(8, n, 32, requires_grad=True)
            [gradient] = torch.autograd.grad(make()(x)[:, -1].sum(), x)
            if gradient[:, 0].abs().max() == 0:
                silent.add((name, n))
    holds("only in the dense convolutions, the gradient of the first of 10 or 81 symbols is 0",
          silent == {("dense convolutions", 10), ("dense convolutions", 81)})  # fmt: skip


def numbers() -> None:
    """Glue how many times as fast as the GRU attention is, from the record of times."""
    import pandas as pd
    from myst_nb import glue

    times = pd.read_csv(course_file("records/layers_times.csv"))
    attention = times[times.layer == "self-attention"].set_index("length")
    glue("equal-factor", f"{1 / attention.ratio_to_recurrent[256]:.1f}", display=False)

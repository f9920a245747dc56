from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.luong import DotAttention
from transformer_workbook.notebook.proofs import agree, holds, proof
from transformer_workbook.places import course_file


@proof
def cuts(split: Any, merge: Any) -> None:
    """Split by one view, a sentence falls into two pieces; by view and transpose it does not."""
    attention = ScaledDotProductAttention()
    x = torch.randn(1, 4, 6)  # (batch, words, heads · d)
    changed = torch.cat([x[:, :3], x[:, 3:] + 1], dim=1)  # another last word

    def notices(split: Any, merge: Any) -> list[bool]:
        before, after = (merge(attention(*3 * [split(each)])) for each in (x, changed))
        found: list[bool] = (before != after).any(dim=-1)[0].tolist()
        return found

    both = notices(lambda x: split(x, 2), merge)
    alone = notices(lambda x: x.view(1, 2, 4, 3), lambda heads: heads.reshape(1, 4, 6))
    holds(
        "with view and transpose, a change of the last word changes the outputs of all words",
        all(both),
    )
    holds(
        "with view alone, it changes only those of the words 2 and 3",
        alone == [False, False, True, True],
    )


@proof
def by_loop(
    plain: Any,
    x: Float[Tensor, "batch time d_model"],
    matrices: Sequence[Tensor],
    output: Float[Tensor, "batch time d_model"],
) -> None:
    """The class with the matrices of the loop, those of all heads in one, computes what it does."""
    *each, W_O = matrices  # three times (heads, d_model, d)
    layer = plain(x.size(-1), len(each[0]))
    with torch.no_grad():
        for linear, W in zip(
            (layer.query, layer.key, layer.value, layer.output),
            (*(torch.cat(list(W), dim=1) for W in each), W_O),
            strict=True,
        ):
            linear.weight.copy_(W.T)  # nn.Linear computes x @ weight.T + bias
            linear.bias.zero_()
        agree(1e-12, {"the output of the loop": output, "that of your class": layer(x, x, x)})


@proof
def multi_head(plain: Any, package: Any) -> None:
    """Two classes compute what PyTorch's does with the same numbers."""
    pytorch: Any = nn.MultiheadAttention(6, 3, batch_first=True)
    x = torch.randn(5, 4, 6)
    with torch.no_grad():
        for bias in (pytorch.in_proj_bias, pytorch.out_proj.bias):
            bias.normal_()
        expected, _ = pytorch(x, x, x)
        results = {"the outputs of PyTorch": expected}
        for name, layer in {"your class": plain(6, 3), "the package": package(6, 3)}.items():
            for part, W, bias in zip(
                (layer.query, layer.key, layer.value),
                pytorch.in_proj_weight.chunk(3),
                pytorch.in_proj_bias.chunk(3),
                strict=True,
            ):
                part.weight.copy_(W)
                part.bias.copy_(bias)
            layer.output.load_state_dict(pytorch.out_proj.state_dict())
            results[name] = layer(x, x, x)
    agree(1e-12, results)


@proof
def twins(plain: Any, error: Any) -> None:
    """Two heads that are initialised alike get the same gradient, and others do not."""
    alike, usual = plain(16, 2), plain(16, 2)
    with torch.no_grad():
        for part in (alike.query, alike.key, alike.value):
            part.weight[8:] = part.weight[:8]
            part.bias[8:] = part.bias[:8]
        alike.output.weight[:, 8:] = alike.output.weight[:, :8]
    for layer in (alike, usual):
        error(layer, 64).backward()
    one, two = _gradients(alike)
    agree(1e-12, {"the gradients of a head": one, "those of one initialised alike": two})
    one, two = _gradients(usual)
    holds(
        "the gradients of two heads that are initialised differently differ",
        (one - two).abs().max() > 0.001,
    )


def _gradients(layer: Any) -> Float[Tensor, "heads matrices d d_model"]:
    parts = [part.weight.grad.view(2, 8, 16) for part in (layer.query, layer.key, layer.value)]
    output = layer.output.weight.grad.view(16, 2, 8).permute(1, 2, 0)
    return torch.stack([*parts, output], dim=1)


@proof
def costs(package: Any) -> None:
    """One wide head and eight narrow ones: equally many parameters, and operations on 32 words."""
    found = []
    for num_heads, d in ((1, 512), (8, 64), (8, 512)):
        layer = package(512, num_heads, d_k=d, d_v=d)
        layer.attention = DotAttention()  # the counter sees its products
        words = torch.randn(1, 32, 512)
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            layer(words, words, words)
        parameters = sum(p.numel() for p in layer.parameters())
        found.append((parameters, counter.get_total_flops()))
    one, eight, wide = found
    by_hand = 2 * (4 * 32 * 512**2 + 2 * 32**2 * 512)  # as many additions as multiplications
    same = one == eight == (4 * 513 * 512, by_hand)
    holds("one wide head and eight narrow ones have equally many parameters and operations", same)
    more = all(most > 7.9 * few for most, few in zip(wide, one, strict=True))
    holds("eight wide heads have nearly eight times as many of both", more)


@proof
def one_output_matrix(
    heads: Sequence[Float[Tensor, "batch time d"]],
    W_O: Float[Tensor, "heads_d d_model"],
    added: Sequence[Float[Tensor, "batch time d_model"]],
    output: Float[Tensor, "batch time d_model"],
) -> None:
    """There is one output matrix for all heads: its blocks add up, and whole it fits no head."""
    total = torch.stack(list(added)).sum(dim=0)
    agree(1e-12, {"the output of the layer": output, "the sum over its heads": total})
    d = heads[0].size(-1)
    holds(
        "W^O has one row for each column of the heads side by side", len(W_O) == len(heads) * d != d
    )


def numbers() -> None:
    """Glue the numbers of the text, from the record of ablated heads of decoders."""
    import pandas as pd
    from myst_nb import glue

    ten = pd.read_csv(course_file("records/heads_out.csv"))
    lost = [100 * (ten.exact - ten[f"without_{i}"]).to_numpy() for i in range(1, 5)]
    glue("least-lost", f"{min(map(min, lost)):.1f}", display=False)
    glue("heads-tried", f"{sum(map(len, lost))}", display=False)
    best = ten[[f"aer_{i}" for i in range(1, 5)]].min(axis=1)
    glue("mean-best", f"{(ten.aer_mean < best).sum()}", display=False)

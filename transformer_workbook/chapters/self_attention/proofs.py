import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.notebook.proofs import agree, holds, proof
from transformer_workbook.places import course_file


@proof
def by_hand(
    plain: Any,
    x: Float[Tensor, "words d_model"],
    matrices: Sequence[Float[Tensor, "d_model width"]],
    output: Float[Tensor, "words d_v"],
) -> None:
    """A layer that is given the three matrices computes what was computed with a pencil."""
    W_Q, _, W_V = matrices
    layer = plain(*W_Q.shape, W_V.size(1))
    with torch.no_grad():
        for linear, W in zip((layer.query, layer.key, layer.value), matrices, strict=True):
            linear.weight.copy_(W.T)  # nn.Linear keeps its matrix transposed
        agree(1e-12, {"the output by hand": output, "that of your class": layer(x[None])[0]})


@proof
def self_attention(plain: Any, package: Any) -> None:
    """Two classes of self-attention and PyTorch compute what a loop over numbers computes."""
    ours, theirs = plain(5, 4, 7), package(5, 4, 7)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 6, 5)
    with torch.no_grad():
        parts = ours.query(x), ours.key(x), ours.value(x)
        results = {
            "the outputs of a loop": _by_loop(*parts),
            "your class": ours(x),
            "the package": theirs(x),
            "PyTorch": F.scaled_dot_product_attention(*parts),
        }
    agree(1e-12, results)


def _by_loop(
    Q: Float[Tensor, "batch time d_k"],
    K: Float[Tensor, "batch time d_k"],
    V: Float[Tensor, "batch time d_v"],
) -> Float[Tensor, "batch time d_v"]:
    output = torch.zeros(*Q.shape[:2], V.size(-1))
    for b, i in itertools.product(range(Q.size(0)), range(Q.size(1))):
        exps = []
        for key in K[b].tolist():
            products = [x * y for x, y in zip(Q[b, i].tolist(), key, strict=True)]
            exps.append(math.exp(sum(products) / math.sqrt(len(key))))
        for weight, value in zip(exps, V[b].tolist(), strict=True):
            for d, number in enumerate(value):
                output[b, i, d] += weight / sum(exps) * number
    return output


@proof
def whom_a_child_asks(
    models: Mapping[str, Any],
    cards: Int[Tensor, "parties children 3"],
    answers: Int[Tensor, "parties children"],
) -> None:
    """Three matrices find the child that was drawn; without them a child attends to itself."""
    name, drawn, _ = cards.unbind(dim=-1)
    right = models["three matrices"](cards).argmax(dim=-1) == answers  # (parties, children)
    asked = name[:, None, :] == drawn[:, :, None]  # (parties, asking, asked)
    with torch.no_grad():
        weights = _weights(models["three matrices"], cards)
        itself = _weights(models["X itself"], cards).diagonal(dim1=-2, dim2=-1)
    found = weights[asked].view(right.shape)[right]
    holds(
        "children who answer right give on average over 90 % of their attention to whom they drew",
        found.mean() > 0.9,
    )
    holds(
        "with X itself, children keep on average over 90 % of their attention for themselves",
        itself.mean() > 0.9,
    )


def _weights(
    model: Any, cards: Int[Tensor, "parties children 3"]
) -> Float[Tensor, "parties children children"]:
    name, drawn, gift = cards.unbind(dim=-1)
    x = model.name(name) + model.drawn(drawn) + model.gift(gift)
    attention = model.attention
    Q, K = (attention.query(x), attention.key(x)) if hasattr(attention, "query") else (x, x)
    return (Q @ K.mT / math.sqrt(K.size(-1))).softmax(dim=-1)


@proof
def variance_of_a_score() -> None:
    """Over all vectors of ±1, a score has the variance d_k, and 1 after the division."""
    scaled = []
    for d_k in range(1, 7):
        every = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=d_k)))
        scores = every @ every.T  # of all pairs of vectors
        scaled.append((scores / math.sqrt(d_k)).var(correction=0))
        assert scores.var(correction=0) == d_k
    claim = (
        "over all pairs of vectors of ±1, scores have variance d_k, and divided by √d_k variance 1"
    )
    holds(claim, torch.allclose(torch.stack(scaled), torch.ones(6), rtol=0, atol=1e-12))


@proof
def rows_one_by_one() -> None:
    """Each row of the output, computed alone and in any order, is that of all at once."""
    x = torch.randn(50, 8)  # a sentence of 50 words
    W_Q, W_K, W_V = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 6)
    Q, K, V = x @ W_Q, x @ W_K, x @ W_V
    at_once = (Q @ K.T / math.sqrt(4)).softmax(dim=-1) @ V
    rows = torch.zeros(50, 6)
    for i in torch.randperm(50):
        rows[i] = (x[i] @ W_Q @ K.T / math.sqrt(4)).softmax(dim=-1) @ V
    agree(1e-12, {"rows computed all at once": at_once, "rows computed one by one": rows})


def numbers() -> None:
    """Glue the numbers of the text, from the record of heads that were trained at the party."""
    import pandas as pd
    from myst_nb import glue

    runs = pd.read_csv(course_file("records/scaling.csv"))
    most = runs.groupby("model")[["right_100", "right_300", "right_1000"]].max().max(axis=1)
    glue("shared-most", f"{most['shared']:.1%}", display=False)
    glue("itself-most", f"{max(most['itself'], most['itself, small']):.1%}", display=False)

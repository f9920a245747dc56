"""The proofs of chapter 7, positional encoding."""

import math
from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.capture import capture_attention
from annotated_transformer.positional_encoding import sinusoidal_encoding
from transformer_workbook.proofs.saying import agree, holds, proof


@proof
def bag_of_words(layer: Any) -> None:
    """In every order of five words the outputs are the same, permuted; not with positions."""
    pytorch, five = nn.MultiheadAttention(6, 2, batch_first=True), torch.randn(1, 5, 6)
    orders = torch.tensor(list(permutations(range(5))))[1:]  # (119, word): all but the first
    for name, attend in {"the layer": layer, "PyTorch's": lambda x: pytorch(x, x, x)[0]}.items():
        same, moved = (
            (attend(five[0, orders] + places) - attend(five + places)[0, orders]).abs().amax((1, 2))
            for places in (torch.zeros(5, 6), sinusoidal_encoding(5, 6))
        )
        claim = "in all 120 orders of five words the same outputs, permuted, to 1e-12"
        holds(f"{name}: {claim}", same.max() < 1e-12)
        holds("with positions added, another order gives other outputs", moved.min() > 0.001)


@proof
def formula(encoding: Float[Tensor, "40 20"], package: Any) -> None:
    """Every entry is the formula, written out with loops."""
    results = {
        "the formula": _by_loop(40, 20),
        "your matrix": encoding,
        "the package": package(40, 20),
    }
    agree(1e-12, results)
    agree(1e-12, {"the formula for d = 64": _by_loop(200, 64), "the package's": package(200, 64)})


def _by_loop(length: int, d: int) -> Float[Tensor, "length d"]:
    written = torch.empty(length, d)
    for pos in range(length):
        for i in range(d // 2):
            angle = pos / 10000 ** (2 * i / d)
            written[pos, 2 * i] = math.sin(angle)
            written[pos, 2 * i + 1] = math.cos(angle)
    return written


@proof
def turn(rotation: Callable[[int, int], Float[Tensor, "d_model d_model"]]) -> None:
    """One rotation for each offset leads from every position to the one further on."""
    encoding, offsets = sinusoidal_encoding(2000, 16), (1, 7, 100, -3)
    spans = [torch.arange(max(0, -k), 2000 - max(0, k)) for k in offsets]
    further = [encoding[p + k] for p, k in zip(spans, offsets, strict=True)]
    turned = [  # rows are vectors, hence .T
        encoding[p] @ rotation(k, 16).T for p, k in zip(spans, offsets, strict=True)
    ]
    results = {"all encodings some positions on": torch.cat(further), "turned": torch.cat(turned)}
    agree(1e-11, results)
    back = torch.stack([rotation(-k, 16) for k in offsets])
    transposed = torch.stack([rotation(k, 16).T for k in offsets])
    agree(1e-11, {"the matrices for the way back": back, "the transposed ones": transposed})
    seven = rotation(3, 16) @ rotation(4, 16)
    agree(1e-11, {"a turn by 7": rotation(7, 16), "one by 4 and then 3": seven})
    lengths = encoding.norm(dim=1)
    agree(1e-11, {"√(d/2)": torch.full_like(lengths, math.sqrt(8)), "all lengths": lengths})


@proof
def one_word_back(weights: Float[Tensor, "query key"]) -> None:
    """A head that was built of a rotation attends to the previous position, wherever it is."""
    before = weights.diagonal(-1)
    claim = (
        f"each of the {len(before):,} positions after the first gives over 99.9 % to the one before"
    )
    holds(claim, (before > 0.999).all())


@proof
def positions(plain: Any, package: Any) -> None:
    """Two layers add the same encodings, to whole sentences and to a word that comes alone."""
    x = torch.randn(2, 7, 6)
    expected = x + _by_loop(7, 6)
    results = {"the formula": expected}
    later = torch.tensor([[4], [6]])  # of one new word in each sentence
    alone = {
        "the formula for words that come alone": torch.stack([expected[0, 4:5], expected[1, 6:]])
    }
    for name, layer in {"your class": plain(9, 6), "the package": package(9, 6)}.items():
        results[name] = layer(x)
        alone[name] = layer(torch.stack([x[0, 4:5], x[1, 6:]]), later)
    agree(1e-12, results)
    agree(1e-12, alone)


@proof
def equal_norms(models: Mapping[str, Any], right: Any) -> None:
    """Learned positions solve the task as sinusoids do, without being equally long."""
    shares = {right(models[name], 8, 1, 7) for name in ("sinusoids", "learned")}
    claim = "every run with positions answers every question on 8 symbols"
    holds(claim, shares == {"100% (100–100%)"})
    norms = models["learned"][0].positions.table[:8].norm(dim=1)
    holds(
        "the norms of learned positions differ by a tenth and more",
        norms.max() > 1.1 * norms.min(),
    )


class _Faster(nn.Module):
    """Sinusoids whose frequencies are all multiplied by a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        frequency = factor * 10000 ** (-torch.arange(0, 16, 2) / 16)
        angle = torch.arange(16)[:, None] * frequency
        self.table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.size(1)]


@proof
def fastest_hand(model: Any, train: Any) -> None:
    """Beyond its training, a head attends one turn of the fastest hand too far."""
    tokens = torch.randint(8, (1000, 16))
    for factor in (0.8, 1.0, 1.25):
        trained = train(model(_Faster(factor)))
        with capture_attention(trained) as captured, torch.no_grad():
            trained(tokens)
        [weights] = captured["look"]  # (sequence, head, query, key)
        query, turn = 6, round(2 * math.pi / factor)
        new = weights[:, 0, query, 8:].mean(dim=0)  # the keys beyond the length of training
        too_far = int(new.argmax()) + 8 - (query - 1)
        claim = f"all frequencies × {factor}: position {query} attends {turn} positions too far"
        holds(f"{claim}, 2π / {factor} = {2 * math.pi / factor:.1f}", too_far == turn)


@proof
def rotary(rotate: Any, rotation: Any) -> None:
    """Rotated queries and keys have the same scores three positions on; with sinusoids, others."""
    q, k = torch.randn(2, 5, 16)  # (time, d_k) each
    by_matrix = torch.stack([rotation(p, 16) @ row for p, row in enumerate(q)])
    agree(1e-12, {"rotated by the matrix of each position": by_matrix, "by rotate": rotate(q)})
    scores, later = rotate(q) @ rotate(k).T, torch.arange(3, 8)  # (query, key)
    moved = rotate(q, later) @ rotate(k, later).T
    agree(1e-12, {"the scores": scores, "those three positions on": moved})
    holds("without the rotation the scores are others", (scores - q @ k.T).abs().max() > 0.1)
    here, there = sinusoidal_encoding(8, 16).unfold(0, 5, 3).mT  # positions 0 to 4, and 3 to 7
    gap = (q + here) @ (k + here).T - (q + there) @ (k + there).T
    holds("with sinusoids added, the scores change", gap.abs().max() > 0.1)


def numbers() -> None:
    """Glue the number of the text, from the formula."""
    from myst_nb import glue

    moves = sinusoidal_encoding(50, 512)
    glue("still", (moves.amax(0) - moves.amin(0) < 0.1).sum().item(), display=False)

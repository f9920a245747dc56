import math
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_workbook.notebook import arrow, attention_explorer, box, table
from transformer_workbook.notebook.explorer import Explorer

NAMES = "Ada Ben Cho Dan Eva Fay Gil Han Ida Jun Kim Leo Mia Noa Oki Pia".split()  # noqa: SIM905
GIFTS = "axe bag bow cap car cup fan hat jam key map oar pan pen pie toy".split()  # noqa: SIM905

BLUE, GREEN, ORANGE = "#cfe3f5", "#d5ecdf", "#fbe3b5"


def attention_layer() -> None:
    """The layer of the example, from X at the bottom to the output at the top."""
    import matplotlib.pyplot as plt

    boxes = {
        "$X$  (4, 4)": (2, 0, BLUE),
        "$Q$  (4, 2)": (0, 1.3, GREEN),
        "$K$  (4, 2)": (2, 1.3, GREEN),
        "$V$  (4, 4)": (4, 1.3, GREEN),
        "scores $QK^\\top$  (4, 4)": (1, 2.4, "white"),
        "divide by $\\sqrt{d_k}$": (1, 3.3, ORANGE),
        "softmax of each row: weights  (4, 4)": (1, 4.2, "white"),
        "output: weights times $V$  (4, 4)": (2.2, 5.3, BLUE),
    }
    arrows = [
        ((1.5, 0.25), (0.1, 1.05)), ((2, 0.25), (2, 1.05)), ((2.5, 0.25), (3.9, 1.05)),
        ((0.1, 1.55), (0.7, 2.15)), ((1.9, 1.55), (1.3, 2.15)), ((1, 2.65), (1, 3.05)),
        ((1, 3.55), (1, 3.95)), ((1.3, 4.45), (1.8, 5.05)), ((4, 1.55), (2.8, 5.05)),
    ]  # fmt: skip
    _, ax = plt.subplots(figsize=(5.2, 5.0))
    for text, (x, y, colour) in boxes.items():
        box(ax, x, y, text, colour)
    for start, end in arrows:
        arrow(ax, start, end)
    for x, y, name in ((0.3, 0.45, "Q"), (2.1, 0.6, "K"), (3.35, 0.45, "V")):
        ax.text(x, y, f"$W^{name}$")
    ax.set(xlim=(-0.9, 4.9), ylim=(-0.4, 5.7))
    ax.axis("off")
    plt.show()


def party(cards: Int[Tensor, "1 children 3"], answers: Int[Tensor, "1 children"]) -> Any:
    """What each child drew and holds, and what it should answer."""
    holds = [GIFTS[gift] for gift in cards[0, :, 2].tolist()]
    right = [GIFTS[gift] for gift in answers[0].tolist()]
    return table({"": _drew(cards), "holds": holds, "right answer": right})


def _drew(cards: Int[Tensor, "1 children 3"]) -> list[str]:
    return [f"{NAMES[name]} drew {NAMES[drawn]}" for name, drawn, _ in cards[0].tolist()]


def whom_a_child_asks(model: Any, cards: Int[Tensor, "1 children 3"]) -> Explorer:
    """The attention of each child, with the child that it drew outlined."""
    name, drawn, gift = cards.unbind(dim=-1)
    x = model.name(name) + model.drawn(drawn) + model.gift(gift)
    with torch.no_grad():
        scores = model.attention.query(x) @ model.attention.key(x).mT
    weights = (scores / math.sqrt(model.attention.key.out_features)).softmax(dim=-1)
    children = name[0].tolist()
    return attention_explorer(
        weights,  # of the one party: as of one head
        _drew(cards),
        [NAMES[child] for child in children],
        gold=[(children.index(child), i) for i, child in enumerate(drawn[0].tolist())],
        caption="Eight children at a new party",
        sides=("query", "key"),
    )


def weights_by_width() -> None:
    """The weights of 16 keys for queries of three widths, without the division and with it."""
    import matplotlib.pyplot as plt

    random = torch.Generator().manual_seed(3)
    _, axes = plt.subplots(2, 3, figsize=(6.4, 3.4), sharex=True, sharey=True)
    for column, d_k in zip(axes.T, (4, 64, 1024), strict=True):
        keys = torch.randn(16, d_k, generator=random, dtype=torch.float64)
        scores = keys @ torch.randn(d_k, generator=random, dtype=torch.float64)
        for ax, divisor in zip(column, (1, math.sqrt(d_k)), strict=True):
            weights = (scores / divisor).softmax(dim=0)
            ax.bar(range(16), weights.numpy().round(2), color="C1" if divisor == 1 else "C0")
            ax.set(ylim=(0, 1), xticks=[])
        column[0].set_title(f"$d_k = {d_k}$")
        column[1].set_xlabel("16 keys")
    axes[0, 0].set_ylabel("weights, $q\\cdot k$")
    axes[1, 0].set_ylabel("$q\\cdot k\\,/\\sqrt{d_k}$")
    plt.show()

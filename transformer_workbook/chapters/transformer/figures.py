import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from annotated_transformer import toy
from transformer_workbook.notebook import COLOURS, arrow, box, table
from transformer_workbook.places import course_file

BLUE, ORANGE, PLAIN = "#cfe3f5", "#ffdf9e", "white"


def transformer(vocab: int, source: int, target: int) -> None:
    """Draw the model of the lesson, with the shapes of so many source and target tokens."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.6, 8.2))
    _column(ax, 1.0, "encoder", ("self-attention", "feed-forward"), vocab, source)
    attends = "masked self-attention", "cross-attention", "feed-forward"
    _column(ax, 5.2, "decoder", attends, vocab, target)
    box(ax, 1.0, 8.3, "memory", BLUE, 9)
    ax.text(2.85, 8.45, "keys, values", size=9, ha="center")
    ax.text(5.2, 13.1, "the next word", size=9, ha="center")
    ax.set(xlim=(-0.7, 7.2), ylim=(-0.5, 13.4))
    ax.axis("off")
    plt.show()


def _column(ax: Any, x: float, name: str, parts: Sequence[str], vocab: int, n: int) -> None:
    """Draw one side: token ids, embedding, two layers, and what follows them."""
    from matplotlib.patches import Rectangle

    is_encoder = name == "encoder"
    colour, width = (BLUE, 2.5) if is_encoder else (ORANGE, 3.1)
    boxes = [("token ids", 0, PLAIN, f"1 × {n}"), ("embedding", 1.2, PLAIN, f"1 × {n} × 64")]
    for number in range(2):
        low = 2.7 + number * (len(parts) * 1.1 + 0.4)
        size = width, (len(parts) - 1) * 1.1 + 0.8
        corner = x - width / 2, low - 0.4
        ax.add_patch(Rectangle(corner, *size, fill=False, ec="grey"))
        beside = x + (-1 if is_encoder else 1) * (width / 2 + 0.2)
        middle = {"rotation": 90, "va": "center", "ha": "center", "size": 9}
        ax.text(beside, low - 0.4 + size[1] / 2, f"layer {number + 1}", middle)
        for i, part in enumerate(parts):
            boxes.append((part, low + i * 1.1, colour, f"1 × {n} × 64"))
            if part == "cross-attention":
                arrow(ax, (1.42, 8.3), (x - 0.8, low + i * 1.1))
    if not is_encoder:
        boxes.append(("linear", 10.3, PLAIN, f"1 × {n} × {vocab}"))
        boxes.append(("softmax", 11.5, PLAIN, f"1 × {n} × {vocab}"))
    tops = [*(y for _, y, _, _ in boxes[1:]), 8.3 if is_encoder else 13.0]
    for (part, y, shade, shape), top in zip(boxes, tops, strict=True):
        box(ax, x, y, part, shade, 9)
        arrow(ax, (x, y + 0.25), (x, top - 0.25))
        aside, side = (-0.1, "right") if is_encoder else (0.1, "left")
        ax.text(x + aside, (y + top) / 2, shape, size=9, va="center", ha=side)


def dependencies(depends: Mapping[str, Bool[Tensor, "13 22"]]) -> None:
    """Draw which logits move with which word: with all masks, and with one missing."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    shown = depends["correct"].int() + depends["missing mask"].int()
    pair = toy.EXAMPLES[1]
    read = ["BOS", *(f"{m} ({g})" for m, g in zip(pair.tgt, pair.gloss, strict=True))]
    _, ax = plt.subplots(figsize=(6.4, 5.0))
    shades = ListedColormap(["white", COLOURS[1], COLOURS[0]])
    ax.pcolormesh(shown.tolist(), cmap=shades, edgecolor="white", vmin=0, vmax=2)
    ax.axvline(9, color="black", linewidth=2)
    places = [i + 0.5 for i in range(22)]
    words = [*pair.src, "EOS", *read]
    ax.set_xticks(places, words, size=8, rotation=60, ha="right", rotation_mode="anchor")
    ax.set_yticks(places[:13], read, size=8)
    ax.set(xlabel="the word that is changed", ylabel="logits after reading")
    ax.invert_yaxis()
    ax.set_title("blue: moves; orange: moves only with a mask missing", size=10)
    plt.show()


def first_losses(losses: Sequence[float], vocab: int) -> Any:
    """Show the lowest, the mean and the highest of twenty, beside ln V."""
    summary = [math.log(vocab), min(losses), sum(losses) / len(losses), max(losses)]
    names = [f"ln V = ln {vocab}", f"lowest of {len(losses)}", "mean", "highest"]
    return table(torch.tensor(summary), columns=names, decimals=1)


def curves(losses: Mapping[str, Sequence[float]]) -> None:
    """Draw the loss of each model on the batch that it overfits."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.6, 3.6))
    styles = ["-", "--", "-.", "-", ":", "--", ":"]
    for (name, curve), style, colour in zip(
        losses.items(), styles, ("black", *COLOURS), strict=True
    ):
        shown = [round(min(loss, 8), 1) for loss in curve]
        ax.plot(shown, style, label=name, color=colour)
    ax.set(xlabel="step", ylabel="loss of the batch, nats", ylim=(0, 6.5))
    ax.legend(fontsize=9, frameon=False)
    plt.show()


def findings(found: Mapping[str, Mapping[str, bool]]) -> Any:
    """Show which check has found which bug."""
    marks = [
        {check: "found" if seen else "" for check, seen in row.items()} for row in found.values()
    ]
    return table(marks, list(found))


def last_token() -> Any:
    """How probable an untrained model with tied weights finds its last token again, by width."""
    import pandas as pd

    rows = pd.read_csv(course_file("records/tied_start.csv"))
    rows = rows[(rows.model == "transformer") & (rows.start == "today")]
    shown = {
        f"{norm}-norm: {what}": by_norm.set_index("d_model")[column]
        for norm, by_norm in rows.groupby("norm_position")
        for column, what in {"p_last_token": "probability", "loss": "loss"}.items()
    }
    widths = [f"width {width}" for width in rows.d_model.unique()]
    return table(torch.tensor([*map(list, shown.values())]), [*shown], widths)

import math
from collections.abc import Mapping, Sequence
from typing import Any

from transformer_workbook.notebook import COLOURS, arrow, box, table
from transformer_workbook.notebook.comparisons import comparisons
from transformer_workbook.places import course_file

SAME, NEW = "#cfe3f5", "#ffdf9e"


def two_blocks() -> None:
    """Draw the block of 2017 and that of today, from bottom to top; what is new is orange."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2, figsize=(6.4, 4.4))
    attention = "self-attention\n$h$ heads of queries,\nkeys and values; biases"
    network = "$W_2\\,$ReLU$(W_1 x)$\n$d_{ff} = 4\\,d$; biases"
    _block(
        axes[0],
        "2017",
        [(attention, SAME), ("+", "w"), ("LayerNorm", SAME)],
        [(network, SAME), ("+", "w"), ("LayerNorm", SAME)],
    )
    attention = "self-attention, rotary\n$h$ heads of queries,\n$g$ of keys and values\nQK-norm"
    network = "$W_2\\,($Swish$(Wx) \\odot Vx)$\n$d_{ff} = 8\\,d/3$"
    _block(
        axes[1],
        "today",
        [("RMSNorm", NEW), (attention, NEW), ("+", "w")],
        [("RMSNorm", NEW), (network, NEW), ("+", "w")],
    )
    plt.show()


def _block(ax: Any, title: str, *sublayers: list[tuple[str, str]]) -> None:
    """Draw two sub-layers, each with its shortcut from before the first box to the sum."""
    y, low = 0.0, -0.9
    for sublayer in sublayers:
        start = y - 0.95
        for text, colour in sublayer:
            height = 0.28 * text.count("\n")
            y += height
            arrow(ax, (0, low), (0, y - height - 0.3))
            box(ax, 0, y, text, colour, 9)
            low = y + height + 0.3
            if text == "+":
                ax.plot([0, 2.4, 2.4], [start + 0.15, start + 0.15, y], color=COLOURS[4])
                style = {"arrowstyle": "->", "color": COLOURS[4]}
                ax.annotate("", (0.3, y), (2.4, y), arrowprops=style)
            y += height + 1.25
    arrow(ax, (0, low), (0, low + 0.6))
    ax.set_title(title, fontsize=12)
    ax.set(xlim=(-2.6, 2.8), ylim=(-1.3, 9.6))
    ax.axis("off")


def largest_scores(found: Mapping[str, Sequence[float]], every: int) -> None:
    """Draw the largest attention score over the steps of training, a line for each model."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.2, 3.2))
    for (name, scores), colour, style in zip(
        found.items(), COLOURS, ("-", "--", "-.", ":"), strict=False
    ):
        steps = [every * i for i in range(len(scores))]
        ax.plot(steps, scores, style, color=colour, label=name)
    ax.set(yscale="log", xlabel="steps of training", ylabel="largest score")
    ax.legend(frameon=False)
    plt.show()


CHANGES: Mapping[str, tuple[str, str, int]] = {
    "2017": ("2017, pre-norm", "o-", 0),
    "QK-norm": ("2017 with QK-norm", "s--", 1),
    "today": ("today", "v-.", 4),
}
"""Of the models of the record of learning rates: their name, mark and colour."""


def learning_rates() -> None:
    """Draw the loss on validation over the learning rate, from the record."""
    import matplotlib.pyplot as plt
    import pandas as pd

    record = pd.read_csv(course_file("records/block_rates.csv"))
    fig, ax = plt.subplots(figsize=(5.2, 3.4))
    for model, (name, mark, colour) in CHANGES.items():
        some = record[record.model == model]
        losses = some.val_perplexity.map(math.log).clip(upper=3).round(2)
        style: dict[str, Any] = {"color": COLOURS[colour], "markersize": 4}
        ax.plot(some.rate, losses, mark[0], alpha=0.3, **style)
        ax.plot(losses.groupby(some.rate).median(), mark, label=name, **style)
    rates = sorted(record.rate.unique())
    ax.set(xscale="log", xlabel="learning rate", ylabel="loss on validation, nats", ylim=(0, None))
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates], size=9)
    ax.minorticks_off()
    fig.legend(loc="outside upper center", ncols=3, frameon=False)
    plt.show()


def costs() -> Any:
    """Show time and KV cache of each block, from the record."""
    import pandas as pd

    record = pd.read_csv(course_file("records/block_times.csv"))
    rows = {
        "training step, of that of 2017": record.train_ratio,
        "decode step, of that of 2017": record.decode_ratio,
        "bytes of KV cache a token": record.cache_bytes,
    }
    return table(pd.DataFrame(rows).set_index(record.model))


def norm_times() -> Any:
    """Show the times of norms, from the record."""
    import pandas as pd

    record = pd.read_csv(course_file("records/norm_times.csv"), index_col="width")
    pairs = [name.split(", ") for name in record.columns]
    names = dict.fromkeys(name for name, _ in pairs)
    rows = {
        f"{name}, {width} wide": {
            "forward, µs": record.loc[width, f"{name}, forward"],
            "with gradient, µs": record.loc[width, f"{name}, both"],
        }
        for width in record.index
        for name in names
    }
    return table(pd.DataFrame(rows).T)


def rates() -> None:
    """Draw the numbers read aloud over the learning rate, from the record of QK-norm."""
    import matplotlib.pyplot as plt
    import pandas as pd

    record = pd.read_csv(course_file("records/qk_norm.csv"))
    fig, ax = plt.subplots(figsize=(5.2, 3.2))
    for name, mark, colour in (("no QK-norm", "o-", 0), ("QK-norm", "s--", 1)):
        some = record[record.model == name]
        style: dict[str, Any] = {"color": COLOURS[colour], "markersize": 4}
        ax.plot(some.rate, 100 * some.right, mark[0], alpha=0.3, **style)
        ax.plot(100 * some.groupby("rate").right.mean(), mark, label=name, **style)
    found = sorted(record.rate.unique())
    ax.set(xscale="log", xlabel="learning rate", ylabel="new numbers read, %")
    ax.set_xticks(found, [f"{rate:g}" for rate in found], size=9)
    ax.minorticks_off()
    fig.legend(loc="outside upper center", ncols=2, frameon=False)
    plt.show()


def single_changes() -> Any:
    """Show the gain of each change alone with its 95 % interval."""
    block = comparisons()["block"]
    gains = {ours: block.difference(ours, theirs) for ours, _, theirs in block.claims}
    rows = [
        {"gain, points": f"{gain.value:.1f}", "95 % interval": f"{gain.low:.1f} to {gain.high:.1f}"}
        for gain in gains.values()
    ]
    return table(rows, rows=list(gains))

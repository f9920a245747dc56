import math
from typing import Any

from transformer_workbook.notebook import COLOURS, arrow, box, table
from transformer_workbook.places import course_file


def two_orders() -> None:
    """Draw post-norm and pre-norm, each with the path of the shortcut."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2, figsize=(5.2, 3.8))
    _order(axes[0], "post-norm", {1: "sub-layer", 2.45: "+", 3.9: "norm"}, end=2.45)
    _order(axes[1], "pre-norm", {1: "norm", 2.45: "sub-layer", 3.9: "+"}, end=3.9)
    plt.show()


def _order(ax: Any, title: str, boxes: dict[float, str], end: float) -> None:
    for height, text in boxes.items():
        box(ax, 0, height, text, "w" if text == "+" else "#cfe3f5", 11)
    for low, high in ((-0.3, 0.55), (1.4, 2.05), (2.85, 3.5), (4.3, 4.9)):
        arrow(ax, (0, low), (0, high))
    ax.plot([0, 1.5, 1.5], [0.1, 0.1, end], color=COLOURS[4])
    style = {"arrowstyle": "->", "color": COLOURS[4]}
    ax.annotate("", (0.3, end), (1.5, end), arrowprops=style)
    ax.text(0, -0.6, "$x$", ha="center", size=12)
    ax.set_title(title, fontsize=12)
    ax.set(xlim=(-1.6, 1.9), ylim=(-0.9, 5.1))
    ax.axis("off")


MARKS = {
    "plain, 4": ("s:", 3),
    "plain, 24": ("o-", 4),
    "plain, 24, looks linear": ("D-.", 2),
    "shortcut, 24": ("v--", 0),
}


def _usual() -> Any:
    """Return the runs of the record of stacks that compare learning rates without warm-up."""
    import pandas as pd

    record = pd.read_csv(course_file("records/stacks.csv"))
    return record[(record.seed >= 10) & (record.warmup == 0)]


def learning_rates() -> None:
    """Draw the loss of four stacks at twelve learning rates, from the record."""
    import matplotlib.pyplot as plt

    usual = _usual()
    fig, ax = plt.subplots(figsize=(5.2, 3.6))
    for kind, (mark, colour) in MARKS.items():
        some = usual[usual.kind == kind]
        logs = some.loss_600.map(math.log10).clip(lower=-4).round(2)
        style: dict[str, Any] = {"color": COLOURS[colour], "markersize": 4}
        ax.plot(some.rate, logs, mark[0], alpha=0.3, **style)
        ax.plot(logs.groupby(some.rate).median(), mark, label=kind, **style)
    ax.axhline(-1, color="gray", linewidth=0.8)
    powers = [f"$10^{{{power}}}$" for power in (-3, -2, -1, 0)]
    ax.set_yticks(range(-4, 1), ["$10^{-4}$ or less", *powers])
    ax.set(xscale="log", xlabel="learning rate", ylabel="training loss")
    title = "stack, number of layers"
    fig.legend(title=title, loc="outside upper center", ncols=2, frameon=False)
    plt.show()


def usable_rates() -> Any:
    """Show at how many of the twelve learning rates each stack ends below the grey line."""
    usual = _usual()
    usable = (usual.loss_600 < 0.1).groupby([usual.kind, usual.seed]).sum()
    means = [[usable[kind].mean()] for kind in MARKS]
    return table(means, list(MARKS), ["usable rates of twelve, mean of five seeds"], decimals=1)

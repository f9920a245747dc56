from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from annotated_transformer import toy
from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.batches import Batch
from annotated_transformer.evaluation import forced_attention
from transformer_workbook.notebook import ToyTask, arrow, box, heat_map

BLUE, GREEN, ORANGE = "#cfe3f5", "#d5ecdf", "#fbe3b5"


def multi_head_layer() -> None:
    """The layer with three heads, from X at the bottom to the output at the top."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.2, 4.4))
    box(ax, 2, 0, r"$X$  (time, $d_\mathrm{model}$)", BLUE)
    box(ax, 2, 3.1, r"side by side  (time, $h \cdot d_v$)", "white")
    box(ax, 2, 4.1, "times $W^O$", ORANGE)
    box(ax, 2, 5.1, r"output  (time, $d_\mathrm{model}$)", BLUE)
    for i, place in enumerate((0, 2, 4), start=1):
        matrices = ", ".join(f"$W_{i}^{name}$" for name in "QKV")
        box(ax, place, 1.6, f"head {i}\n{matrices}\n(time, $d_v$)", GREEN)
        arrow(ax, (1 + place / 2, 0.25), (place, 1.0))
        arrow(ax, (place, 2.2), (1 + place / 2, 2.85))
    arrow(ax, (2, 3.35), (2, 3.85))
    arrow(ax, (2, 4.35), (2, 4.85))
    ax.set(xlim=(-0.9, 4.9), ylim=(-0.4, 5.4))
    ax.axis("off")
    plt.show()


def cuts() -> None:
    """Four words of six numbers, split for two heads by view and transpose, and by view alone."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    x = torch.arange(4)[:, None] * 10 + torch.arange(6)  # (words, numbers)
    both, alone = x.view(4, 2, 3).transpose(0, 1), x.view(2, 4, 3)
    panels = {
        f"{name}:\nhead {i}": part
        for name, heads in (("view, transpose", both), ("view alone", alone))
        for i, part in enumerate(heads, start=1)
    }
    light = ListedColormap([BLUE, ORANGE, GREEN, "#f3dcea"])
    _, axes = plt.subplots(1, 4, figsize=(7.6, 2.6))
    for ax, (title, part) in zip(axes, panels.items(), strict=True):
        ax.pcolormesh(part.numpy() // 10, cmap=light, vmin=0, vmax=3, edgecolor="grey")
        for t, numbers in enumerate(part.tolist()):
            for c, number in enumerate(numbers):
                ax.text(c + 0.5, t + 0.5, f"{number:02}", ha="center", va="center")
        ax.set(xticks=[], yticks=[])
        ax.set_title(title, fontsize=12)
        ax.invert_yaxis()
    axes[0].set_ylabel("rows")
    plt.show()


def neighbours(runs: Mapping[int, Sequence[tuple[Any, list[float]]]]) -> None:
    """The error of the last run of one head and of two, and the attention maps of the heads."""
    import matplotlib.pyplot as plt

    last = {h: runs[h][-1] for h in (1, 2)}
    names, attention = torch.eye(8, 16), ScaledDotProductAttention()
    weights: list[Tensor] = []
    for h, (layer, _) in last.items():
        with torch.no_grad():
            query, key = (f(names).view(8, h, -1).transpose(0, 1) for f in (layer.query, layer.key))
            weights.extend(attention.weights(query, key))
    window = 15
    _, (left, *maps) = plt.subplots(1, 4, figsize=(8.8, 2.6), width_ratios=[1.4, 1, 1, 1])
    for (_, curve), name in zip(last.values(), ("one head", "two heads"), strict=True):
        means = torch.tensor(curve).view(-1, window).mean(dim=1)
        middles = [window * (i + 0.5) for i in range(len(means))]
        left.plot(middles, means.numpy().round(2), label=name)
    left.axhline(0.5, color="grey", linestyle="--", label="one half")
    left.set(xlabel="training step", ylabel="squared error", ylim=(0, 1))
    left.legend(frameon=False, fontsize=10)
    gold = {(j % 8, t) for t in range(8) for j in (t - 1, t + 1)}
    titles = "the only head", "two heads: 1st", "two heads: 2nd"
    for ax, title, map_ in zip(maps, titles, weights, strict=True):
        heat_map(ax, map_, list("01234567"), list("01234567"), gold)
        ax.tick_params(axis="x", rotation=0, labelsize=9)
        ax.tick_params(axis="y", labelsize=9)
        ax.set_title(title, fontsize=11)
    plt.show()


def four_heads(task: ToyTask, model: Any) -> None:
    """The attention maps of the four heads of a translator, for the robot sentence."""
    import matplotlib.pyplot as plt

    robot = toy.EXAMPLES[1]
    source = task.src_vocabulary.encode(" ".join(robot.src))
    target = task.tgt_vocabulary.encode(" ".join(robot.tgt))
    one = Batch.of([(source, target)])
    seen = forced_attention(model, one.src, one.tgt_in)
    rows = [f"{word}  {gloss}" for word, gloss in zip(robot.tgt, robot.gloss, strict=True)]
    _, axes = plt.subplots(2, 2, figsize=(7.2, 8.4))
    for i, (ax, weights) in enumerate(zip(axes.flat, seen["attention"][0][0], strict=True)):
        heat_map(ax, weights, [*rows, "EOS"], [*robot.src, "EOS"], robot.alignment)
        ax.tick_params(labelsize=10.5)
        if i % 2:
            ax.set_yticklabels([])
        ax.set_title(f"head {i + 1}", fontsize=12)
    plt.show()

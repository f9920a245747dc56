from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_workbook.notebook import heat_map


def masks(
    panels: Mapping[str, Bool[Tensor, "*axes query key"]], words: Sequence[str] | None = None
) -> None:
    """Draw masks side by side, blue where they are true: of the first sentence and head of each.

    The axes show the words, or the numbers of the positions.
    """
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 3, sharey=True, figsize=(6.4, 3.2 if words else 2.6))
    for ax, (title, mask) in zip(axes, panels.items(), strict=True):
        square = mask.flatten(0, -3)[0] if mask.dim() > 2 else mask
        length = square.size(-1)
        names = words or [str(i) for i in range(length)]
        style = {"cmap": "Blues", "vmin": 0, "vmax": 1.4, "edgecolor": "lightgrey"}
        ax.pcolormesh(square.expand(length, -1).int().numpy(), **style)
        places = [i + 0.5 for i in range(length)]
        ax.set_xticks(places, names)
        ax.set_yticks(places, names)
        ax.tick_params(axis="x", rotation=90 if words else 0, labelsize=9)
        ax.tick_params(axis="y", labelsize=9)
        ax.set_ylim(length, 0)  # the first row on top
        ax.set_aspect("equal")
        ax.set_title(title, fontsize=11)
    axes[0].set_ylabel("query")
    axes[1].set_xlabel("key")
    plt.show()


def losses(curves: Mapping[str, Sequence[float]]) -> None:
    """Draw the training losses of models, as means of 20 steps."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    for name, curve in curves.items():
        means = torch.tensor(curve).view(-1, 20).mean(dim=1)
        steps = [20 * i + 10 for i in range(len(means))]
        ax.plot(steps, [round(mean, 1) for mean in means.tolist()], label=name)
    title = "Training loss, mean of 20 steps"
    ax.set(xlabel="training step", ylabel="cross-entropy (nats)", ylim=(-0.1, 4.8), title=title)
    ax.legend(frameon=False)
    plt.show()


def head(weights: Float[Tensor, "query key"], words: Sequence[str]) -> None:
    """Draw the attention map of one head of self-attention."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(3.8, 3.4))
    heat_map(ax, weights, words, words)
    ax.set(xlabel="key", ylabel="query")
    plt.show()

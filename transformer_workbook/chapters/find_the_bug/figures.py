import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import torch
from jaxtyping import Bool
from torch import Tensor

from transformer_workbook.chapters.find_the_bug.faulty import models as mistakes

LINES: list[tuple[Callable[..., object], int, int | None]] = [
    (mistakes.ForgetsPositions.forward, -1, None),
    (mistakes.DividesByAnotherDeviation.forward, -2, None),
    (mistakes.CutsAcrossPositions.split, -2, None),
    (mistakes.NeverStopsDropping.forward, -1, None),
    (mistakes._copies_one_layer, -2, None),
    (mistakes.ReadsPaddingOfTheSource.forward, -1, None),
    (mistakes.ScalesTooLate.weights, -2, None),
    (mistakes.HidesTheFutureInTrainingOnly.extend, 4, 8),
]
"""Where the mistakes of patients 1 to 8 are: in which lines of which function."""


def learning_curves(curves: Mapping[int, Sequence[float]], window: int = 20) -> None:
    """Draw the losses of all patients, all in grey, each point the mean of some steps."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.2, 3.4))
    for curve in curves.values():
        means = torch.tensor(curve).view(-1, window).mean(1).tolist()
        middles = [window * i + window / 2 for i in range(len(means))]
        ax.plot(middles, [round(mean, 2) for mean in means], "grey", lw=1)
    ax.set(xlabel="training step", ylabel="loss per token (nats)", ylim=(0, 5))
    plt.show()


def leaks(healthy: Bool[Tensor, "word position"], *leaking: Bool[Tensor, "word position"]) -> None:
    """Draw which logits depend on which word: blue where they may, orange where they must not."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    titles = [f"leak, {n} layer{'s'[: n - 1]}" for n in range(1, len(leaking) + 1)]
    _, axes = plt.subplots(1, 1 + len(leaking), figsize=(7.6, 2.5), sharey=True)
    for ax, title, noticed in zip(axes, ["healthy", *titles], [healthy, *leaking], strict=True):
        for word, position in product(range(5), repeat=2):
            colour = "white"
            if noticed[word, position]:
                colour = "C0" if position >= word else "C1"
            square = Rectangle((position, word), 1, 1, facecolor=colour, edgecolor="lightgrey")
            ax.add_patch(square)
        ax.set(xlim=(0, 5), ylim=(5, 0), aspect="equal")
        ax.set_title(title, fontsize=12)
        ax.set_xlabel("position that moves", fontsize=10)
        ax.set_xticks([i + 0.5 for i in range(5)], range(1, 6))
        ax.set_yticks([i + 0.5 for i in range(5)], range(1, 6))
    axes[0].set_ylabel("word changed", fontsize=10)
    plt.show()


def mistaken_lines() -> None:
    """Print the lines that matter, one bug after the other."""
    for number, (function, first, last) in enumerate(LINES, start=1):
        lines = inspect.getsource(function).rstrip().split("\n")[first:last]
        print(f"# {number}", textwrap.dedent("\n".join(lines)), sep="\n")

import math
from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from transformer_workbook.notebook import COLOURS
from transformer_workbook.places import course_file


def turns(frequencies: Float[Tensor, " pair"], trained: int, asked: int) -> None:
    """How often each pair turns, in the length of training and in a longer text."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.2, 3.6))
    pairs = range(len(frequencies))
    for length, colour, marker in ((trained, COLOURS[0], "o"), (asked, COLOURS[1], "^")):
        often = (length * frequencies / (2 * math.pi)).tolist()
        ax.plot(pairs, often, marker=marker, color=colour, label=f"in {length} positions")
    ax.axhline(1, color="0.5", linestyle="--", linewidth=1)
    ax.text(len(frequencies) - 1, 1.3, "a whole turn", ha="right", color="0.4")
    ax.set_yscale("log")
    ax.set_xticks(pairs[::3])
    ax.set(xlabel="pair of columns", ylabel="number of turns")
    ax.legend(frameon=False)
    plt.show()


def by_length(shares: Mapping[str, Sequence[float]], lengths: Sequence[int], trained: int) -> None:
    """Share of right answers against the length of the text, a line for each encoding."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.2, 3.6))
    for (name, right), colour, marker in zip(shares.items(), COLOURS, "osDv^", strict=False):
        ax.plot(lengths, right, marker=marker, color=colour, label=name)
    ax.axvline(trained, color="0.5", linestyle="--", linewidth=1)
    ax.set_xscale("log", base=2)
    ax.set_xticks(lengths, map(str, lengths))
    ax.set_ylim(0, 1.05)
    ax.set(xlabel="number of symbols (dashed: as in training)", ylabel="right answers")
    ax.legend(frameon=False)
    plt.show()


def by_distance(scores: Mapping[str, Float[Tensor, " distance"]], trained: int) -> None:
    """The score of a key against its distance, a panel for each setting of the frequencies."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(6.4, 5.2), layout="constrained")
    axes = figure.subplots(len(scores), sharex=True, sharey=True)
    for ax, (name, curve) in zip(axes, scores.items(), strict=True):
        ax.plot(curve.tolist(), color=COLOURS[0], linewidth=1.2)
        ax.plot(1, curve[1], "o", color=COLOURS[1])
        ax.axhline(curve[1], color=COLOURS[1], linewidth=0.8, linestyle=":")
        ax.axvline(trained, color="0.5", linestyle="--", linewidth=1)
        ax.set(ylabel="score", title=name)
    axes[-1].set(xlabel=f"distance of the key (dashed: {trained}, the length of training)")
    plt.show()


def slowed(
    plain: Float[Tensor, " pair"], scaled: Mapping[str, Float[Tensor, " pair"]], length: int
) -> None:
    """By how much each method slows each pair down; the line is at the pair that turns once."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.2, 3.4))
    for (name, frequencies), colour, marker in zip(scaled.items(), COLOURS, "osD", strict=False):
        ax.plot((plain / frequencies).tolist(), marker=marker, color=colour, label=name)
    once = sum(length * plain / (2 * math.pi) >= 1) - 0.5
    ax.axvline(once, color="0.5", linestyle="--", linewidth=1)
    ax.set(xlabel="pair (dashed: to the right, less than one turn)", ylabel="slowed down by")
    ax.legend(frameon=False)
    plt.show()


def loss_by_length(models: Mapping[str, tuple[str, str]]) -> None:
    """Mean loss of the record's fresh seeds against the length, for models and methods."""
    import matplotlib.pyplot as plt
    import pandas as pd

    rows = pd.read_csv(course_file("records/length_texts.csv")).query("seed > 0")
    lengths = [64, 128, 256, 512]
    _, ax = plt.subplots(figsize=(5.2, 3.8))
    for (name, (model, method)), colour, marker in zip(
        models.items(), COLOURS, "osDv^P", strict=False
    ):
        means = [rows[rows.model == model][f"{method}_{length}"].mean() for length in lengths]
        ax.plot(lengths, means, marker=marker, color=colour, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks(lengths, map(str, lengths))
    ax.set(xlabel="number of tokens read (64 in training)", ylabel="loss, nats")
    ax.legend(frameon=False)
    plt.show()

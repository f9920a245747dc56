from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.capture import capture_attention
from transformer_workbook.notebook import COLOURS, course_file, heat_map


def clocks(clock: Float[Tensor, "9 4"]) -> None:
    """The two hands of a clock at positions 0 to 8."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 9, figsize=(6.6, 1.15))
    turn = torch.linspace(0, 2 * torch.pi, 60)
    ring = torch.stack([turn.sin(), turn.cos()]).numpy().round(2)
    hands = clock.view(9, 2, 2).numpy().round(2)
    for place, ax in enumerate(axes):
        ax.plot(*ring, color="lightgrey")
        for (right, up), colour, length, width in zip(
            hands[place], COLOURS[:2], (0.9, 0.55), (2, 3.5), strict=True
        ):
            ends = [0, length * right], [0, length * up]
            ax.plot(*ends, color=colour, linewidth=width, solid_capstyle="round")
        ax.set_title(str(place))
        ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
        ax.axis("off")
    plt.show()


def encoding(values: Float[Tensor, "40 20"]) -> None:
    """The matrix of encodings, a row for each position."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(5.2, 4.6))
    picture = values.numpy().round(2)
    mesh = ax.pcolormesh(picture, cmap="PuOr", vmin=-1, vmax=1, edgecolor="face", linewidth=0.2)
    ax.set_xticks([column + 0.5 for column in range(0, 20, 2)], map(str, range(0, 20, 2)))
    ax.set_yticks([position + 0.5 for position in range(0, 40, 5)], map(str, range(0, 40, 5)))
    ax.set(xlabel="column (even: sine, odd: cosine)", ylabel="position")
    ax.invert_yaxis()
    fig.colorbar(mesh, label="value", ticks=[-1, 0, 1])
    plt.show()


def head(weights: Float[Tensor, "query key"]) -> None:
    """Show the weights of a head for every query and key."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(4, 3.6))
    labels = [str(position) for position in range(len(weights))]
    heat_map(ax, weights, labels, labels)
    ax.set(xlabel="position of the key", ylabel="position of the query")
    plt.show()


def sixteen_symbols(model: Any) -> None:
    """Show the mean attention map of a model, at twice the length of its training."""
    import matplotlib.pyplot as plt

    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(8, (1000, 16), generator=generator)
    with capture_attention(model) as captured, torch.no_grad():
        model(tokens)
    [weights] = captured["attention"]  # (sequence, head, query, key)
    _, ax = plt.subplots(figsize=(5.2, 4.8))
    labels = [str(position) for position in range(16)]
    wanted = [(position - 1, position) for position in range(1, 16)]
    heat_map(ax, weights[:, 0].mean(0), labels, labels, wanted)
    ax.axhline(8, color="black", linewidth=1)
    ax.axvline(8, color="black", linewidth=1)
    ax.set(xlabel="position of the key", ylabel="position of the query")
    plt.show()


def seeds_and_sentences() -> None:
    """Glue the standard errors of learned positions' gain, by seeds and by test sentences."""
    import numpy as np
    import pandas as pd
    from myst_nb import glue

    record = pd.read_csv(course_file("records/test_sentences.csv"), dtype={"right": str})
    right = {
        name: np.array([[int(bit) for bit in bits] for bits in rows.right])  # (seeds, sentences)
        for name, rows in record.groupby("model")
    }
    gain = right["learned"].mean(0) - right["sinusoidal"].mean(0)
    seeds = sum(of_one.mean(1).var(ddof=1) / len(of_one) for of_one in right.values())
    sentences = gain.var(ddof=1) / len(gain)
    glue("error-seeds", f"{100 * seeds**0.5:.2f}", display=False)
    glue("error-sentences", f"{100 * sentences**0.5:.2f}", display=False)
    glue("error-both", f"{(1 + sentences / seeds) ** 0.5:.2f}", display=False)

"""The figures of chapter 23, without the table."""

from transformer_workbook.notebook import COLOURS

N, D = 4.0, 1.2
"""How long the sides of a rectangle are that stand for n and for d numbers."""

Q, KT, V = ("$Q$", D, N), ("$K^\\top$", N, D), ("$V$", D, N)
TABLE, STATE, OUTPUT = ("$QK^\\top$\n$n \\times n$", N, N), ("$K^\\top V$", D, D), ("", D, N)
ORDERS = {
    "the table first": ((Q, KT, TABLE), (TABLE, V, OUTPUT)),
    "the state first": ((KT, V, STATE), (Q, STATE, OUTPUT)),
}
"""The products in each order: two factors and what they make."""


def two_orders() -> None:
    """Draw both orders of the product of Q, Kᵀ and V: only the first makes n × n numbers."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(2, 1, figsize=(6.2, 3.6))
    for ax, (title, products) in zip(axes, ORDERS.items(), strict=True):
        x = 0.0
        for product in products:
            for (name, width, height), sign in zip(product, ("·", "=", ""), strict=True):
                made = (name, width, height) in (TABLE, STATE)
                colour = COLOURS[1] if made else "#cfe3f5"
                ax.bar(x, height, width, -height / 2, align="edge", color=colour, edgecolor="grey")
                ax.text(x + width / 2, 0, name, ha="center", va="center", fontsize=9)
                ax.text(x + width + 0.5, 0, sign, ha="center", va="center")
                x += width + 1
            x += 0.8
        ax.set(xlim=(-0.1, 23), ylim=(-2.2, 2.2), aspect="equal")
        ax.set_title(title, loc="left", fontsize=11)
        ax.axis("off")
    plt.show()


def recall() -> None:
    """Draw how many values heads of each width find, over the number of pairs, from the record."""
    import matplotlib.pyplot as plt
    import pandas as pd

    rows = pd.read_csv("records/recall.csv").query("seed > 0").groupby("model").mean()
    pairs = [4, 8, 16, 32, 64]
    _, ax = plt.subplots(figsize=(5.4, 3.6))
    models = ["softmax 8", *(f"linear {width}" for width in (64, 32, 16, 8))]
    for model, colour, mark in zip(models, COLOURS, ("*--", "o-", "s-", "D-", "v-"), strict=False):
        right = [100 * round(rows.loc[model][f"right_{n}"], 3) for n in pairs]
        kind, width = model.split()
        numbers = int(width) * (int(width) + 1)
        name = f"linear, state of {numbers:,}" if kind == "linear" else f"softmax, width {width}"
        ax.plot(pairs, right, mark, color=colour, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks(pairs, map(str, pairs))
    ax.set(xlabel="pairs to remember", ylabel="values found, %", ylim=(0, 105))
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    plt.show()

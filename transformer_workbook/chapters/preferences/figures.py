from collections.abc import Mapping, Sequence

from transformer_workbook.notebook import COLOURS


def answers(shares: Mapping[str, Sequence[float]], names: Sequence[str]) -> None:
    """Bars of the shares of answers, a group for each model, a colour for each kind of share."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(6.4, 3.2))
    wide = 0.8 / len(names)
    for i, name in enumerate(names):
        places = [place + wide * (i - (len(names) - 1) / 2) for place in range(len(shares))]
        values = [share[i] for share in shares.values()]
        ax.bar(places, values, 0.9 * wide, color=COLOURS[i], label=name, hatch=["", "//"][i % 2])
    ax.set_xticks(range(len(shares)), list(shares))
    ax.set(ylabel="of 100 answers", ylim=(0, 125), yticks=range(0, 101, 25))
    ax.legend(frameon=False, ncols=2, loc="upper center")
    plt.show()

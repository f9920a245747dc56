from transformer_workbook.notebook import COLOURS
from transformer_workbook.places import course_file


def recall() -> None:
    """Draw how many values heads of each width find, over the number of pairs, from the record."""
    import matplotlib.pyplot as plt
    import pandas as pd

    rows = pd.read_csv(course_file("records/recall.csv")).query("seed > 0").groupby("model").mean()
    pairs = [4, 8, 16, 32, 64]
    _, ax = plt.subplots(figsize=(5.4, 3.6))
    models = ["softmax 8", *(f"linear {width}" for width in (64, 32, 16, 8))]
    for model, colour, mark in zip(models, COLOURS, ("*--", "o-", "s-", "D-", "v-"), strict=False):
        kind, width = model.split()
        size = f"state of {int(width) * (int(width) + 1):,}" if kind == "linear" else "a cache"
        right = [100 * round(rows.loc[model][f"right_{n}"], 3) for n in pairs]
        ax.plot(pairs, right, mark, color=colour, label=f"{kind}, {size}")
    ax.set_xscale("log", base=2)
    ax.set_xticks(pairs, map(str, pairs))
    ax.set(xlabel="pairs to remember", ylabel="values found, %", ylim=(0, 105))
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    plt.show()

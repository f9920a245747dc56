from collections.abc import Mapping, Sequence

from transformer_workbook.notebook import COLOURS


def told(found: Mapping[str, Sequence[int]]) -> None:
    """Draw how many of 100 stories fit their request, and of 100 answers are right, by model."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(6.4, 2.6))
    for number, what in enumerate(("stories that fit", "right answers")):
        counts = [counts[number] for counts in found.values()]
        places = [place + 0.36 * (number - 0.5) for place in range(len(counts))]
        bars = ax.barh(
            places, counts, 0.34, color=COLOURS[number], label=what, hatch=["", "//"][number]
        )
        ax.bar_label(bars, padding=3, fontsize=9)
    ax.set_yticks(range(len(found)), found)
    ax.invert_yaxis()
    ax.set(xlabel="of 100", xlim=(0, 108))
    ax.legend(frameon=False, fontsize=9)
    plt.show()

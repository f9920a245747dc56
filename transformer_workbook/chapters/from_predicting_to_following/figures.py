from collections.abc import Mapping, Sequence

from transformer_workbook.notebook import COLOURS
from transformer_workbook.places import course_file


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


def tasks() -> None:
    """Draw how many answers are right in each task, by what a model had learned before."""
    import matplotlib.pyplot as plt
    import pandas as pd

    rows = (
        pd.read_csv(course_file("records/following.csv")).query("seed > 0").groupby("model").mean()
    )
    starts = {
        "scratch": "from scratch", "longer": "from scratch, longer",
        "apart": "pretrained, languages apart", "pretrained": "pretrained",
    }  # fmt: skip
    names = ["translate", "reverse", "tag", "count"]
    _, ax = plt.subplots(figsize=(6.4, 3.4))
    for number, (start, label) in enumerate(starts.items()):
        places = [place + 0.2 * (number - 1.5) for place in range(len(names))]
        right = [100 * rows.loc[f"{start} few"][name] for name in names]
        ax.bar(
            places,
            right,
            0.18,
            color=COLOURS[number],
            label=label,
            hatch=["", "//", "..", ""][number],
        )
    ax.set_xticks(range(len(names)), names)
    ax.set(ylabel="answers right, %", ylim=(0, 105))
    ax.legend(frameon=False, fontsize=9, loc="upper left")
    plt.show()

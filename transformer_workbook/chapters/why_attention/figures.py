from collections.abc import Iterator, Sequence
from typing import Any

from transformer_workbook.notebook import COLOURS, mean_interval, table
from transformer_workbook.places import course_file

Point = tuple[int, int]
"""A layer and a position."""


def shortest_paths() -> None:
    """Draw a shortest path from the first of nine words to the last, through four networks."""
    import matplotlib.pyplot as plt

    sentence = "Keys that open the very old oak door were".split()  # noqa: SIM905
    networks: dict[str, tuple[list[str | int], list[Point]]] = {
        "recurrent: 9 steps": (["recurrent"], [(0, 0), *((1, t) for t in range(9))]),
        "dense convolutions: 4 steps": (
            [1, 1, 1, 1],
            [(depth, 2 * depth) for depth in range(5)],
        ),
        "dilated convolutions: 2 steps": ([1, 3], [(0, 0), (1, 2), (2, 8)]),
        "self-attention: 1 step": (["attention"], [(0, 0), (1, 8)]),
    }
    _, axes = plt.subplots(4, figsize=(5.6, 8.4), height_ratios=[2, 5, 3, 2])
    for ax, (title, (layers, path)) in zip(axes, networks.items(), strict=True):
        for (low, s), (high, t) in _lines(layers):
            ax.plot([s, t], [low, high], color="lightgrey", lw=1, zorder=1)
        heights, places = zip(*path, strict=True)
        ax.plot(places, heights, color=COLOURS[4], lw=3, zorder=2)
        points = [(t, y) for t in range(9) for y in range(len(layers) + 1)]
        ax.scatter(*zip(*points, strict=True), color=COLOURS[0], s=22, zorder=3)
        ax.set_title(title, fontsize=11)
        ax.set_xticks(range(9), sentence, fontsize=9)
        ax.set_yticks([])
        ax.spines[:].set_visible(False)
    plt.show()


def _lines(layers: Sequence[str | int]) -> Iterator[tuple[Point, Point]]:
    """Go through all pairs of a point and one that it reads; a layer is a kind, or a dilation."""
    for depth, kind in enumerate(layers, start=1):
        for t in range(9):
            if kind == "recurrent":
                reads = [(0, t), (1, t - 1)] if t else [(0, 0)]
            elif kind == "attention":
                reads = [(0, s) for s in range(9)]
            else:
                places = [t - i * int(kind) for i in range(3)]
                reads = [(depth - 1, s) for s in places if s >= 0]
            yield from ((start, (depth, t)) for start in reads)


def times() -> Any:
    """Show the times of a GRU and of multi-head attention, beside their operations."""
    import pandas as pd

    record = pd.read_csv(course_file("records/layers_times.csv"))
    attention = record[record.layer == "self-attention"].set_index("length")
    recurrent = record[record.layer == "recurrent"].set_index("length")
    took = {
        "GRU, milliseconds": recurrent.milliseconds,
        "attention, milliseconds": attention.milliseconds,
    }
    compared = pd.DataFrame(took).round().astype(int)
    compared["FLOPs, attention : GRU"] = attention.operations / recurrent.operations
    return table(compared, rows=[f"n = {n}" for n in compared.index])


def speed_by_batch() -> Any:
    """Show how many FLOPs attention gets done while the GRU does one, by the size of the batch."""
    import pandas as pd

    runs = (
        pd.read_csv(course_file("records/portions_times.csv"))
        .groupby("sentences")
        .speed_to_recurrent
    )
    speeds = {sentences: mean_interval(values.tolist()) for sentences, values in runs}
    rows = [
        {
            "sentences at a time": sentences,
            "FLOPs per second, attention : GRU": f"{speed.value:.1f}",
            "95 % interval": f"{speed.low:.1f} to {speed.high:.1f}",
        }
        for sentences, speed in speeds.items()
    ]
    return table(rows)


def milliseconds() -> Any:
    """Show all times of the record."""
    import pandas as pd

    record = pd.read_csv(course_file("records/layers_times.csv"))
    return table(record.pivot(index="length", columns="layer", values="milliseconds"))

from typing import Any

from transformer_workbook.notebook import COLOURS, table
from transformer_workbook.places import course_file


def roofline(peak: float, bandwidth: float) -> None:
    """Draw the roofline of a processor, with a float32 matrix times 1, 20 and 400 vectors."""
    import matplotlib.pyplot as plt

    ridge = peak / bandwidth
    fig, ax = plt.subplots(figsize=(5.2, 3.4))
    ax.plot([0.1, ridge], [0.1 * bandwidth / 1e9, peak / 1e9], color=COLOURS[1], label="memory")
    ax.plot([ridge, 1000], [peak / 1e9] * 2, "--", color=COLOURS[0], label="arithmetic")
    for tokens in (1, 20, 400):
        intensity = tokens / 2
        height = min(peak, intensity * bandwidth) / 1e9
        ax.plot(intensity, height, "ko", markersize=5)
        place: dict[str, Any] = {"textcoords": "offset points", "va": "top", "size": 10}
        ax.annotate(f"{tokens} at once", (intensity, height), (4, -5), **place)
    ax.set(xscale="log", yscale="log", xlim=(0.1, 1000), ylim=(1, 300))
    ax.set_xticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1,000"])
    ax.set_yticks([1, 10, 100], ["1", "10", "100"])
    ax.set(xlabel="arithmetic intensity, FLOPs a byte", ylabel="billion FLOPs a second")
    ax.minorticks_off()
    fig.legend(loc="outside upper center", ncols=2, frameon=False)
    plt.show()


def cache_passes() -> Any:
    """Show the time of a decode step of 16 texts, from the record."""
    import pandas as pd

    record = pd.read_csv(course_file("records/cache_passes.csv"))
    means = record.groupby(["past", "kv_heads"]).mean().sort_index(ascending=[True, False])
    rows = {
        "caches, MB": means.cache_megabytes.round().astype(int),
        "ms, keys copied": means.copied_milliseconds.round().astype(int),
        "ms, keys shared": means.shared_milliseconds.round().astype(int),
    }
    names = [f"{past:,} tokens each, heads: {heads}" for past, heads in means.index]
    return table(pd.DataFrame(rows), names)


PASSES = (
    ("one text", "own_milliseconds", "one text", "o-"),
    ("a text each", "own_milliseconds", "as many texts", "s--"),
    ("one text", "shared_milliseconds", "one text, layers share weights", "v-."),
)
"""Of the record: the form and the column, the name of a line and its mark."""


def pass_times() -> None:
    """Draw the time of a pass for each of its tokens, from the record."""
    import matplotlib.pyplot as plt
    import pandas as pd

    record = pd.read_csv(course_file("records/pass_times.csv"))
    fig, ax = plt.subplots(figsize=(5.2, 3.8))
    for (form, column, name, mark), colour in zip(PASSES, (0, 1, 2), strict=True):
        times = record[record.form == form].groupby("tokens")[column].mean()
        ax.plot(
            times.index, (times / times.index).round(3), mark, label=name, color=COLOURS[colour]
        )
    tokens = sorted(record.tokens.unique())
    ax.set(xscale="log", yscale="log", xlabel="tokens in one pass", ylabel="milliseconds a token")
    ax.set_xticks(tokens, tokens)
    ax.set_yticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    ax.minorticks_off()
    fig.legend(loc="outside upper center", ncols=1, frameon=False)
    plt.show()

from typing import Any

from transformer_workbook.notebook import COLOURS, table
from transformer_workbook.places import course_file


def roofline(peak: float, bandwidth: float, speeds: dict[int, float]) -> None:
    """Draw the roofline of a processor, with the FLOPs a second at which some tokens pass it.

    The weights are in float32, so that the intensity of a pass is half the number of its tokens.
    """
    import matplotlib.pyplot as plt

    ridge, high = peak / bandwidth, 2.5 * peak / 1e9
    last = max(2 * ridge, max(speeds))
    fig, ax = plt.subplots(figsize=(5.6, 3.6))
    memory = [0.3 * bandwidth / 1e9, peak / 1e9]
    ax.plot([0.3, ridge], memory, color=COLOURS[1], label=f"memory: {bandwidth / 1e9:.0f}")
    ax.plot(
        [ridge, last],
        [peak / 1e9] * 2,
        "--",
        color=COLOURS[0],
        label=f"arithmetic: {peak / 1e9:.0f}",
    )
    ax.plot([n / 2 for n in speeds], [s / 1e9 for s in speeds.values()], "ko", label="measured")
    for tokens, speed in speeds.items():
        name = f"{tokens} token" + "s" * (tokens > 1)
        ax.annotate(name, (tokens / 2, speed / 1e9), (5, -12), textcoords="offset points", size=10)
    ax.axvline(ridge, color="0.7", linewidth=1, zorder=0)
    ax.annotate("ridge point", (ridge, high), (3, -11), textcoords="offset points", size=9)
    ax.set(xscale="log", yscale="log", xlim=(0.3, 3 * last), ylim=(memory[0], high))
    ax.set(xlabel="arithmetic intensity, FLOPs a byte", ylabel="billion FLOPs a second")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    title = "billion bytes and billion FLOPs a second"
    fig.legend(loc="outside upper center", ncols=3, frameon=False, title=title)
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

from collections.abc import Mapping
from itertools import cycle
from typing import Any

from torch import Tensor

from transformer_workbook.notebook import table
from transformer_workbook.places import course_file


def stored(theirs: Mapping[str, Tensor]) -> Any:
    """The weights of a file that are not of its later layers; biases and the others are counted."""
    shown = [
        name
        for name in theirs
        if ("layer." not in name or "layer.0." in name) and name.endswith("weight")
    ]
    rows = [[name, " × ".join(map(str, theirs[name].shape))] for name in shown]
    rows.append([f"{len(theirs) - len(shown)} more: biases, other layers, position ids", ""])
    return table(rows, columns=["name", "shape"])


def mistakes(distances: Mapping[str, Tensor]) -> None:
    """How far hidden states are from theirs after each layer."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7.2, 3.4))
    for marker, (name, distance) in zip(cycle("osD^vPX*"), distances.items(), strict=False):
        plotted = 10 ** distance.log10().round(decimals=1)
        ax.plot(range(len(plotted)), plotted, marker=marker, label=name)
    ax.set_yscale("log")
    ax.set_xticks(range(len(plotted)))
    ax.set(xlabel="layer (0: embeddings)", ylabel="largest difference")
    ax.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    plt.show()


SEARCHES = {
    "sentence_vectors": "sentence vectors of MiniLM",
    "component_removed": "mean of MiniLM's token embeddings",
    "stems": "words (BM25)",
    "untranslated": "sentence vector of the German caption itself",
}


def search() -> Any:
    """How many queries find the right text first, by search and by kind of text."""
    import pandas as pd

    rows = pd.read_csv(course_file("records/search.csv")).set_index(["split", "search"])
    columns = {
        "test_2016_flickr": "captions of 2016",
        "test_2017_flickr": "captions of 2017",
        "course": "paragraphs of this course",
    }
    found = []
    for name, words in SEARCHES.items():
        row = {"search by": words}
        for split, title in columns.items():
            row[title] = ""
            if (split, name) in rows.index:
                of = rows.loc[split, name]
                row[title] = f"{of.recall_1} [{of.recall_1_low}, {of.recall_1_high}]"
        found.append(row)
    return table(found)


def wrong() -> Any:
    """Show what each mistake in loading does to the search of a thousand captions."""
    import pandas as pd

    rows = pd.read_csv(course_file("records/wrong_weights.csv"))
    columns = ["mistake", "recall at 1", "against the right model", "distance, last layer"]
    found = [
        [row.mistake, row.recall_1, f"{row.gain} [{row.low}, {row.high}]", f"{row.distance:.0e}"]
        for row in rows.itertuples()
    ]
    return table(found, columns=columns)

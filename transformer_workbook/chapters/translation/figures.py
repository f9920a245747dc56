import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxtyping import Float
from torch import Tensor

from transformer_workbook.notebook import COLOURS, attention_explorer, table
from transformer_workbook.notebook.explorer import Explorer

CAPTIONS = [
    ("Ein brauner Hund rennt mit einem Ball im Maul über eine Wiese.",
     "A brown dog runs across a meadow with a ball in its mouth.",
     "A brown dog with a ball in its mouth is running across a lawn."),
    ("Zwei Kinder bauen im Garten einen großen Schneemann.",
     "Two children are building a big snowman in the garden.",
     "Two kids build a large snowman in the yard."),
    ("Eine Frau mit Sonnenbrille liest auf einer Parkbank ein Buch.",
     "A woman with sunglasses is reading a book on a park bench.",
     "A woman wearing sunglasses reads a book on a bench in a park."),
    ("Ein alter Mann mit Hut spielt in der Fußgängerzone Geige.",
     "An old man with a hat plays the violin on a pedestrian street.",
     "An old man in a hat plays violin in the pedestrian zone."),
    ("Drei Mädchen in roten Kleidern tanzen auf einer kleinen Bühne.",
     "Three girls in red dresses are dancing on a small stage.",
     "Three girls in red dresses dance on a little stage."),
    ("Ein kleiner Junge wirft Steine in einen Fluss.",
     "A little boy throws stones into a river.",
     "A small boy is throwing rocks into a river."),
    ("Ein Koch mit weißer Mütze schneidet in der Küche Gemüse.",
     "A cook in a white hat cuts vegetables in the kitchen.",
     "A chef in a white hat is chopping vegetables in the kitchen."),
    ("Eine ältere Dame füttert vor einer Kirche die Tauben.",
     "An elderly lady feeds the pigeons in front of a church.",
     "An elderly woman is feeding the pigeons outside a church."),
    ("Einen Hund jagt eine Katze.",
     "A cat is chasing a dog.",
     "A cat runs after a dog."),
    ("Ein schwarzer Hund springt ins Wasser, um einen Stock zu holen.",
     "A black dog jumps into the water to fetch a stick.",
     "A black dog is jumping into the water to get a stick."),
    ("Mehrere Leute warten mit Regenschirmen an einer Bushaltestelle.",
     "Several people with umbrellas are waiting at a bus stop.",
     "A number of people with umbrellas wait at a bus stop."),
    ("Ein Mädchen mit langen Haaren streichelt ein weißes Pferd.",
     "A girl with long hair pets a white horse.",
     "A long-haired girl is stroking a white horse."),
]  # fmt: skip
"""German captions, and two English translations of each."""


def ngrams_found(hypothesis: Sequence[str], reference: Sequence[str]) -> None:
    """The n-grams of a translation: which of them the reference has."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7.4, 3.2))
    top = 0.0
    for n in (1, 2, 3, 4):
        wanted = {tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)}
        for i in range(len(hypothesis) - n + 1):
            level = -top - i % n
            style: dict[str, Any] = (
                {"color": COLOURS[0], "linewidth": 5}
                if tuple(hypothesis[i : i + n]) in wanted
                else {"color": COLOURS[1], "linewidth": 2, "linestyle": ":"}
            )
            ax.plot([i + 0.1, i + n - 0.1], [level, level], **style)
        ax.text(-0.2, -top - (n - 1) / 2, f"n = {n}", ha="right", va="center")
        top += n + 0.6
    for i, word in enumerate(hypothesis):
        ax.text(i + 0.5, 0.9, word, ha="center", va="center")
    ax.set(xlim=(-1, len(hypothesis)), ylim=(-top, 1.5))
    ax.axis("off")
    plt.show()


def model_card(path: Path) -> Any:
    """The scores of a model card, its first table; the text takes those of two test splits."""
    from myst_nb import glue

    _, first, *_ = re.split(r"^(\|.*?)\n\n", path.read_text("utf-8"), flags=re.M | re.S)
    lines = first.splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    figures = [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]
    bleu = {row["split"]: float(row["BLEU"]) for row in figures}
    glue("test-bleu", f"{bleu['test_2016_flickr']:.1f}", display=False)
    glue("later-bleu", f"{bleu['test_2017_flickr']:.1f}", display=False)
    return table(figures)


def cross_attention(
    cross: Sequence[Float[Tensor, "heads query key"]], target: Sequence[str], source: Sequence[str]
) -> Explorer:
    """Where each head of each layer attends to when the model predicts a token."""
    return attention_explorer(
        {f"layer {i}": weights for i, weights in enumerate(cross, 1)},
        target,
        source,
        caption="Cross-attention: what it attends to when it predicts a token",
    )

from collections.abc import Callable, Mapping
from typing import Any

import torch

from annotated_transformer.batches import Batch
from annotated_transformer.tokens import BOS, EOS, Vocabulary
from annotated_transformer.toy import Pair
from transformer_workbook.notebook import COLOURS, arrow, box

BLUE, GREEN, GREY, ORANGE = "#cfe3f5", "#d5ecdf", "#f2f2f2", "#f7d8a0"


def machine() -> None:
    """Draw the model between its inputs, source and target so far, and the next piece."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7.4, 2.9))
    box(ax, 1.3, 3, "a robot must obey\nthe orders given it", GREY)
    box(ax, 4.4, 3, "5 78 11 117\n4 177 156 31", BLUE)
    box(ax, 1.3, 1, "로봇      은   \nrobot  TOPIC", GREY)
    box(ax, 4.4, 1, "1 76 5", BLUE)
    box(ax, 6.9, 2, "\nthe model\n\nchapters 2–17\n", COLOURS[1])
    box(ax, 9.4, 2, "a score\nfor each\nKorean piece", BLUE)
    box(ax, 11.8, 2, "자신\nself", GREEN)
    for start, end in (
        ((2.75, 3), (3.45, 3)), ((2.3, 1), (3.75, 1)), ((5.35, 3), (5.9, 2.5)),
        ((5.05, 1), (5.9, 1.5)), ((7.95, 2), (8.35, 2)), ((10.4, 2), (11.25, 2)),
    ):  # fmt: skip
        arrow(ax, start, end)
    ax.text(1.3, 3.85, "source", ha="center", fontsize=11)
    ax.text(1.3, 0.1, "written so far", ha="center", fontsize=11)
    ax.text(4.4, 3.85, "tokens as numbers", ha="center", fontsize=11)
    ax.text(11.8, 2.85, "next", ha="center", fontsize=11)
    ax.set(xlim=(-0.3, 12.5), ylim=(-0.1, 4.2))
    ax.axis("off")
    plt.show()


def alignment(pair: Pair) -> None:
    """Draw one square for each gold link: morphemes down, English words across."""
    import matplotlib.pyplot as plt

    grid = torch.zeros(len(pair.tgt), len(pair.src))
    for s, t in pair.alignment:
        grid[t, s] = 1
    _, ax = plt.subplots(figsize=(5.2, 4.8))
    ax.pcolormesh(grid.numpy(), cmap="Blues", edgecolor="lightgrey", vmax=1.4)
    labels = [f"{gloss}  {m}" for m, gloss in zip(pair.tgt, pair.gloss, strict=True)]
    ax.set_yticks([row + 0.5 for row in range(len(pair.tgt))], labels)
    ax.set_xticks([column + 0.5 for column in range(len(pair.src))], pair.src, rotation=45)
    ax.set(ylabel="Korean morphemes, with glosses", xlabel="English words")
    ax.invert_yaxis()
    plt.show()


def batch(batch: Batch, pairs: tuple[Pair, ...], english: Vocabulary, korean: Vocabulary) -> None:
    """Draw the three tensors of a batch, with the words that their ids stand for."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    gloss = {m: g for pair in pairs for m, g in zip(pair.tgt, pair.gloss, strict=True)}
    parts = {"src": english, "tgt_in": korean, "tgt_out": korean}
    _, axes = plt.subplots(3, figsize=(7.2, 4.5))
    for ax, (name, vocabulary) in zip(axes, parts.items(), strict=True):
        for row, ids in enumerate(getattr(batch, name).tolist()):
            for column, word in enumerate(vocabulary.tokens(ids)):
                shown = word.strip("<>").upper() if "<" in word else word
                shown += "\n" + gloss[word] if word in gloss else ""
                colour = {"PAD": GREY, "BOS": ORANGE, "EOS": ORANGE}.get(shown, BLUE)
                ax.add_patch(Rectangle((column, row), 0.96, 0.94, color=colour))
                middle = {"ha": "center", "va": "center", "fontsize": 10}
                written = "grey" if shown == "PAD" else "black"
                ax.text(column + 0.48, row + 0.48, shown, color=written, **middle)
        ax.set(xlim=(0, 8), ylim=(2, 0))
        ax.set_title(name, loc="left", fontsize=11, fontfamily="monospace")
        ax.axis("off")
    plt.show()


def surprisals(
    models: Mapping[str, tuple[Callable[..., Any], Any]], pair: Pair, korean: Vocabulary
) -> None:
    """Draw the surprisal of each morpheme of a sentence under two models."""
    import matplotlib.pyplot as plt

    ids = torch.tensor([BOS, *korean.encode(" ".join(pair.tgt)), EOS])
    names = [f"{m}  {g}" for m, g in zip(pair.tgt, pair.gloss, strict=True)] + ["EOS"]
    right = ids[1:, None]
    _, ax = plt.subplots(figsize=(5.6, 4.6))
    for i, (label, (read, model)) in enumerate(models.items()):
        logs = model(read(ids[:-1])).log_softmax(dim=-1).detach()
        bars = -logs.gather(-1, right).squeeze(-1).numpy().round(1)
        y = [place + 0.2 - 0.4 * (1 - i) for place in range(len(names))]
        ax.barh(y, bars, height=0.38, color=("#c9c9c9", COLOURS[0])[i], label=label)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set(xlabel="surprisal (nats)", xlim=(0, None))
    ax.legend(loc="lower right")
    plt.show()

import math
from collections.abc import Sequence
from typing import Any

import torch

from annotated_transformer import toy
from annotated_transformer.batches import Batch
from annotated_transformer.evaluation import forced_attention
from transformer_workbook.notebook import (
    BINS,
    COLOURS,
    ToyTask,
    arrow,
    attention_explorer,
    box,
    heat_map,
    table,
)
from transformer_workbook.notebook.explorer import Explorer
from transformer_workbook.places import course_file

_, ROBOT = toy.EXAMPLES
MORPHEMES = [f"{m}  {gloss}" for m, gloss in zip(ROBOT.tgt, ROBOT.gloss, strict=True)]


def gold_links() -> None:
    """Which English word is behind each morpheme of the sentence about the robot."""
    import matplotlib.pyplot as plt

    gold = torch.zeros(len(ROBOT.tgt), len(ROBOT.src))
    for s, t in ROBOT.alignment:
        gold[t, s] = 1
    gold = gold / gold.sum(1, keepdim=True).clamp(min=1)
    _, ax = plt.subplots(figsize=(5, 4.2))
    heat_map(ax, gold, MORPHEMES, ROBOT.src)
    ax.set(xlabel="English words", ylabel="Korean morphemes")
    plt.show()


def thermometer() -> Any:
    """The four steps from three readings to a guess for 11 o'clock."""
    steps, rows = [], {9: 10, 10: 14, 12: 20}  # hours and degrees
    total = sum(math.exp(-((11 - hour) ** 2) / 2) for hour in rows)
    for hour, degrees in rows.items():
        score = -((11 - hour) ** 2) / 2
        weight = math.exp(score) / total
        steps.append([degrees, score, math.exp(score), weight, weight * degrees])
    sums = [sum(column) for column in list(zip(*steps, strict=True))[2:]]
    return table(
        [*steps, ["", "", *sums]],
        [*(f"at {hour}" for hour in rows), "sum"],
        ["degrees", "1 score", "2 exponential", "3 weight", "4 part"],
    )


def one_step() -> None:
    """The third step of a decoder, from the words at the bottom to the word that it predicts."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.6, 3.8))
    for j, word in enumerate(["I", "am", "a", "student", "EOS"]):
        ax.text(j, -0.1, word, ha="center", fontsize=10)
        arrow(ax, (j, 0.15), (j, 0.7))
        box(ax, j, 1, f"$h_{j + 1}$", "#cfe3f5", size=12)
        arrow(ax, (j, 1.3), (2 + 0.12 * (j - 2), 2.7))
        label = rf"$\alpha_{{3{j + 1}}}$"
        ax.text(j + 0.22 * (2 - j) + 0.08, 1.65, label, fontsize=10)
    box(ax, 2, 3, "$c_3$", COLOURS[1], size=12)
    box(ax, 0, 3, "$s_2$", "#d5ecdf", size=12)
    box(ax, 4, 3, "$s_3$", "#d5ecdf", size=12)
    arrow(ax, (0.3, 3), (1.7, 3))
    ax.text(1, 3.12, "query", ha="center", fontsize=10)
    arrow(ax, (2.3, 3), (3.7, 3))
    arrow(ax, (0.2, 3.3), (3.75, 3.2), bend=-0.3)
    ax.text(4.1, 2.05, "는 (topic)", ha="center")
    arrow(ax, (4, 2.35), (4, 2.7))
    ax.text(4, 3.75, "학생 (student)", ha="center", color=COLOURS[0])
    arrow(ax, (4, 3.3), (4, 3.7))
    ax.set(xlim=(-0.5, 5), ylim=(-0.3, 4.1))
    ax.axis("off")
    plt.show()


def exactly_right(live: Sequence[float]) -> None:
    """The shares of exact translations by length: five seeds with and without, and one live."""
    import matplotlib.pyplot as plt
    import pandas as pd

    record = pd.read_csv(course_file("records/recurrent.csv"))  # by `make records`
    fresh = record[record.seed > 0]  # five seeds that chose nothing
    curves = {"with attention": "Bahdanau", "one vector": "seq2seq, GRU"}
    _, ax = plt.subplots()
    for (name, model), colour in zip(curves.items(), COLOURS, strict=False):
        shares = fresh[fresh.model == model][["4-6", "7-9", "10-12", "13-15", "16-18"]]
        ax.plot(BINS, shares.mean(), color=colour, label=f"{name}, five seeds")
        ax.fill_between(BINS, shares.min(), shares.max(), color=colour, alpha=0.25)
    ax.plot(BINS, live, "--", color=COLOURS[0], label="trained above")
    ax.set(xlabel="morphemes in the translation", ylabel="share exactly right")
    ax.set(ylim=(-0.03, 1.03))
    ax.legend(fontsize=9)
    plt.show()


def attention(model: Any, task: ToyTask) -> Explorer:
    """What a model attends to where it predicts the sentence about the robot."""
    src = task.src_vocabulary.encode(" ".join(ROBOT.src))
    tgt = task.tgt_vocabulary.encode(" ".join(ROBOT.tgt))
    one = Batch.of([(src, tgt)])
    [weights] = forced_attention(model, one.src, one.tgt_in)["attention"]
    return attention_explorer(
        weights[0, 0],
        [*MORPHEMES, "EOS"],
        [*ROBOT.src, "EOS"],
        gold=ROBOT.alignment,
        caption="What the trained model attends to: " + " ".join(ROBOT.src),
    )

import math
from collections.abc import Sequence
from typing import Any

import torch

from annotated_transformer.tokens import BOS, EOS
from transformer_workbook.notebook import BINS, COLOURS, ToyTask, arrow, box, table
from transformer_workbook.places import course_file

READ = ["I", "am", "a", "student", "EOS"]
WRITTEN = ["BOS", "나\nI", "는\nTOPIC", "학생\nstudent", "이다\nbe", "EOS"]


def encoder_and_decoder() -> None:
    """The encoder's steps, the context, and the decoder's steps, for a sentence of four words."""
    import matplotlib.pyplot as plt

    _, (top, low) = plt.subplots(2, figsize=(5.6, 5), height_ratios=[2, 3.2])
    for t in range(5):
        for ax, name, words in ((top, "h", READ), (low, "s", WRITTEN)):
            colour = "#cfe3f5" if name == "h" else "#d5ecdf"
            box(ax, t, 1, f"${name}_{t + 1}$", colour, size=9)
            ax.text(t, 0.25, words[t], ha="center", va="top")
            arrow(ax, (t, 0.32), (t, 0.72))
            if t < 4:
                arrow(ax, (t + 0.25, 1), (t + 0.75, 1))
        low.text(t, 2.15, WRITTEN[t + 1], ha="center", va="bottom", color=COLOURS[0])
        arrow(low, (t, 1.3), (t, 2.1))
        arrow(low, (-0.8, 1.2), (t - 0.15, 1.3), bend=-0.25 if t else 0)
    arrow(top, (4.25, 1), (4.75, 1))
    box(top, 5, 1, "$c$", COLOURS[1], size=9)
    box(low, -1, 1, "$c$", COLOURS[1], size=9)
    for ax, title, high in ((top, "encoder", 1.5), (low, "decoder", 2.9)):
        ax.set(xlim=(-1.4, 5.4), ylim=(-0.45, high))
        ax.set_title(title, fontsize=11, loc="left")
        ax.axis("off")
    plt.show()


def loss_curve(losses: Sequence[float], vocabulary: int) -> None:
    """The loss in training, as means of 25 steps, below that of uniform guessing."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    means = torch.tensor(losses).view(-1, 25).mean(dim=1)  # of 25 steps
    ax.plot(range(25, 1001, 25), [round(loss, 2) for loss in means.tolist()])
    guessing = round(math.log(vocabulary), 2)
    ax.axhline(guessing, color="grey", linestyle="--")
    ax.text(1000, guessing - 0.1, "uniform guessing", ha="right", va="top")
    ax.set(xlabel="training step", ylabel="loss (nats per token)", ylim=0)
    plt.show()


def _glosses(task: ToyTask) -> dict[str, str]:
    """Every gloss that a morpheme can have, between slashes."""
    glosses: dict[str, dict[str, bool]] = {}
    for example in task.pairs["train"]:
        for morpheme, gloss in zip(example.tgt, example.gloss, strict=True):
            glosses.setdefault(morpheme, {})[gloss] = True
    return {morpheme: "/".join(found) for morpheme, found in glosses.items()}


def word_by_word(model: Any, task: ToyTask, sentence: str) -> Any:
    """What a model reads and writes at each step of a greedy translation, and how surely."""
    glosses = _glosses(task)

    def with_gloss(word: int) -> str:
        [morpheme] = task.tgt_vocabulary.tokens([word])
        return f"{morpheme} ({glosses[morpheme]})" if morpheme in glosses else morpheme

    rows, word = [], BOS
    state = model.start(torch.tensor([[*task.src_vocabulary.encode(sentence), EOS]]))
    while word != EOS:
        with torch.no_grad():
            logits, state = model.step(state, torch.tensor([word]))
        row = {"reads": with_gloss(word)}
        word = int(logits.argmax())
        chance = float(logits[0].softmax(dim=-1)[word])
        rows.append(row | {"writes": with_gloss(word), "probability": chance})
    return table(rows)


def beside_the_reference(wrote: Sequence[str], task: ToyTask) -> Any:
    """The translation of the sentence about the teacher, and what a model wrote instead."""
    reference = "그녀 는 울 지 말 아야 하 는 교사 이다".split()  # noqa: SIM905
    meant = "she TOPIC cry NEGATED not MUST do ADNOMINAL teacher be".split()  # noqa: SIM905
    glosses = _glosses(task)
    gap = [""] * (len(reference) - len(wrote))
    rows = (reference, meant, [*wrote, *gap], [*(glosses[morpheme] for morpheme in wrote), *gap])
    return table(
        [dict(enumerate(row)) for row in rows],
        rows=["reference", "gloss", "model", "gloss"],
        columns=[str(place + 1) for place in range(len(reference))],
    )


def exactly_right() -> None:
    """The share of exact translations by length, of three GRUs and a simple RNN."""
    import matplotlib.pyplot as plt
    import pandas as pd

    record = pd.read_csv(course_file("records/recurrent.csv"))
    fresh = record[record.seed > 0]  # the seed 0 chose the rates
    budgets = pd.read_csv(course_file("records/recurrent_budgets.csv"))
    rnn, gru = (fresh[fresh.model == f"seq2seq, {cell}"] for cell in ("RNN", "GRU"))
    runs = {
        "GRU, twice the width": (budgets[budgets.hidden_dim == 256], "C0", "-", "s"),
        "GRU, twice the steps": (budgets[budgets.steps == 4000], "C2", "-", "^"),
        "GRU, 128 numbers, 2,000 steps": (gru, "black", "-", "o"),
        "simple RNN, 128 numbers, 2,000 steps": (rnn, "C4", "--", "D"),
    }
    _, ax = plt.subplots(figsize=(5.6, 3.6))
    for label, (some, colour, line, marker) in runs.items():
        shares = [round(some[length.replace("–", "-")].mean(), 2) for length in BINS]
        ax.plot(BINS, shares, line, color=colour, marker=marker, label=label)
    ax.set(xlabel="morphemes in the reference", ylim=(-0.03, 1.03))
    ax.set(ylabel="share exactly right")
    ax.legend(fontsize=9, loc="upper right", frameon=False)
    plt.show()

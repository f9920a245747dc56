import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from annotated_transformer.batches import Batch
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.text.examples import Example
from annotated_transformer.training import Schedule, endless_batches, linear_schedule
from annotated_transformer.translation import translate_ids
from transformer_workbook.notebook import COLOURS, ToyTask, arrow, box, table, train_once
from transformer_workbook.places import course_file

Curves = tuple[Sequence[float], Sequence[float]]
"""The training loss at each step, and the validation loss every 20 steps."""


def schedules(inverse_sqrt_schedule: Callable[[float, int], Schedule]) -> None:
    """Three schedules with one warm-up: inverse root, linear and cosine."""
    import matplotlib.pyplot as plt

    warmup, total = 4000, 20_000
    peak = (512 * warmup) ** -0.5
    linear = linear_schedule(peak, total, warmup)

    def cosine(step: int) -> float:
        if step <= warmup:
            return linear(step)
        return peak * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2

    inverse = inverse_sqrt_schedule(peak, warmup)
    shown = {"inverse root (the paper)": inverse, "linear": linear, "cosine": cosine}
    steps = range(1, 20_001, 50)
    _, ax = plt.subplots(figsize=(5.2, 3.4))
    for (name, rate), style in zip(shown.items(), ("-", "--", ":"), strict=True):
        ax.plot(steps, [round(1e3 * rate(step), 3) for step in steps], style, label=name)
    ax.set_yticks([0, 0.2, 0.4, 0.6])
    ax.set(xlabel="step", ylabel="learning rate (thousandths)", ylim=(0, 1.05))
    ax.set_xticks([0, 5000, 10_000, 15_000, 20_000])
    ax.legend(frameon=False)
    plt.show()


def trainer() -> None:
    """What is done for every micro-batch, and what once."""
    import matplotlib.pyplot as plt

    blue, orange = "#cfe6f5", "#fbe3b5"
    _, ax = plt.subplots(figsize=(5.2, 2.5))
    for i in range(3):
        box(ax, 0, 2 - i, f"micro-batch {i + 1}:\nloss, backward", blue, 9)
        arrow(ax, (1.05, 2 - i), (1.75, 1 + 0.25 * (1 - i)))
    box(ax, 2.75, 1, "gradients added,\ndivided once by\nall the tokens", orange, 9)
    for i, name in enumerate(("clip", "learning rate\nof this step", "one step of Adam")):
        box(ax, 5.15, 2 - i, name, orange, 9)
        if i:
            arrow(ax, (5.15, 3 - i - 0.25), (5.15, 2 - i + 0.25))
    arrow(ax, (3.75, 1.2), (4.75, 1.95))
    ax.text(0, 2.65, "for every micro-batch", ha="center", size=10)
    ax.text(4, 2.65, "once", ha="center", size=10)
    ax.set(xlim=(-1.2, 6.3), ylim=(-0.4, 2.9))
    ax.axis("off")
    plt.show()


def four_mistakes(
    accumulate: Callable[[nn.Module, Any, Sequence[Batch]], float],
    model: Any,
    micro: Sequence[Batch],
) -> Any:
    """What each mistake makes of the first gradient, and of the warm-up."""

    def gradient(numbers: Sequence[int]) -> torch.Tensor:
        accumulate(model, smoothed_cross_entropy, [micro[i] for i in numbers])
        return torch.cat([p.grad.flatten() for p in model.parameters()])

    right = [[0, 1, 2], [3, 4, 5], [6]]
    truth = gradient(right[0])
    means = torch.stack([gradient([i]) for i in right[0]]).sum(0)
    loops = {  # the micro-batches of each step, the first gradient, where the warm-up ends
        "right": (right, truth, "4,000"),
        "steps at i = 0": ([[0], [1, 2, 3], [4, 5, 6]], gradient([0]), "4,000"),
        "drops the rest": (right[:2], truth, "4,000"),
        "adds up means": (right, means, "4,000"),
        "schedule counts micro-batches": (right, truth, "1,715"),
    }
    rows = [
        {
            "micro-batches of each step": str(steps),
            "first gradient off by": f"{(found - truth).norm() / truth.norm():.0%}",
            "its length, right = 1": (found.norm() / truth.norm()).item(),
            "warm-up over at step": end,
        }
        for steps, found, end in loops.values()
    ]
    return table(rows, rows=list(loops), decimals=1)


def learning_curve(
    curve: Sequence[float], checks: Mapping[int, float], levels: Mapping[str, float]
) -> None:
    """The losses of a training between three levels."""
    import matplotlib.pyplot as plt

    window = 20
    smooth = torch.tensor(curve).view(-1, window).mean(1)
    middles = [window * i + window / 2 for i in range(len(smooth))]
    _, ax = plt.subplots(figsize=(5.2, 3.8))
    ax.plot(middles, [round(x, 1) for x in smooth.tolist()], label="training")
    seen = [round(x, 1) for x in checks.values()]
    ax.plot(list(checks), seen, "o-", color=COLOURS[1], label="validation")
    for name, level in levels.items():
        ax.axhline(round(level, 2), color="grey", ls="--", lw=1, zorder=0)
        below = name.startswith("floor")
        place = (0, level - 0.08) if below else (400, level + 0.07)
        ha, va = ("left", "top") if below else ("right", "bottom")
        ax.text(*place, name, fontsize=10, color="dimgrey", ha=ha, va=va)
    ax.set(xlabel="step", ylabel="loss (nats per token)", ylim=0)
    ax.legend(frameon=False, loc=(0.55, 0.45))
    plt.show()


def translations(model: Any, task: ToyTask, numbers: Iterable[int]) -> Any:
    """What a model makes of some of the test sentences, with the meaning of each morpheme."""
    examples, pairs = task.examples("test"), task.pairs["test"]
    meaning = {m: g for pair in pairs for m, g in zip(pair.tgt, pair.gloss, strict=True)}
    rows = []
    for i in numbers:
        [ids] = translate_ids(model, [examples[i][0]])
        known = meaning | dict(zip(pairs[i].tgt, pairs[i].gloss, strict=True))
        words = " ".join(f"{m} ({known[m]})" for m in task.tgt_vocabulary.tokens(ids))
        rows.append({"a test sentence": " ".join(pairs[i].src), "the model": words})
    return table(rows)


def six_trainings(
    trainer: Any,
    small_model: Callable[..., nn.Module],
    validation_loss: Callable[[Any], float],
    examples: Sequence[Example],
) -> dict[str, Curves]:
    """Train six models, A to F, or load their curves; one is healthy. This is the solution."""
    import pandas as pd

    def train(model: nn.Module, rates: Schedule, stream: Iterator[Any]) -> Curves:
        trained = trainer(model, smoothed_cross_entropy, rates)
        line, dots = [], []
        for step in range(1, 201):
            line.append(round(trained.update([next(stream)]), 3))
            if step % 20 == 0:
                dots.append(round(validation_loss(model), 3))
        return line, dots

    def batches(pairs: Sequence[Example] = examples) -> Iterator[Any]:
        return endless_batches(pairs, 256, seed=0)

    usual = linear_schedule(8e-3, 200)
    not_shifted = (Batch(batch.src, batch.tgt_out, batch.tgt_out) for batch in batches())
    healthy = small_model()

    def train_all() -> dict[str, Curves]:
        return {
            "A": train(small_model(), linear_schedule(8e-5, 200), batches()),
            "B": train(small_model(dropout=0.6), usual, batches()),
            "C": train(small_model(), usual, batches(examples[:40])),
            "D": train(healthy, usual, batches()),
            "F": train(small_model(), usual, not_shifted),
        }

    runs = train_once("six_curves", healthy, train_all)
    kept = pd.read_csv(course_file("records/too_high.csv")).set_index("rate").loc[20 * 8e-3]
    line, dots = (
        [float(loss) for loss in kept[kind].split()] for kind in ("training", "validation")
    )
    found: dict[str, Curves] = {**runs, "E": (line, dots)}
    return {letter: found[letter] for letter in "ABCDEF"}


def six_curves(runs: Mapping[str, Curves]) -> None:
    """Six trainings: lines are training losses, dots validation losses."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(3, 2, figsize=(5.2, 7.6), sharex=True, sharey=True)
    for ax, (letter, (line, dots)) in zip(axes.flat, runs.items(), strict=True):
        means = torch.tensor(line).view(-1, 10).mean(1)
        middles = [10 * i + 5 for i in range(len(means))]
        ax.plot(middles, [round(x, 1) for x in means.tolist()])
        marks = range(20, 201, 20)
        ax.plot(marks, [round(x, 1) for x in dots], ".", color=COLOURS[4])
        ax.set(title=letter, ylim=(0, 13))
    fig.supxlabel("step", fontsize=12)
    fig.supylabel("nats per token", fontsize=12)
    plt.show()

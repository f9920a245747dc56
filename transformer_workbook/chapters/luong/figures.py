from typing import Any

from annotated_transformer import toy
from annotated_transformer.batches import Batch
from annotated_transformer.evaluation import forced_attention
from transformer_workbook.notebook import BINS, COLOURS, ToyTask, attention_explorer, table
from transformer_workbook.notebook.explorer import Explorer
from transformer_workbook.places import course_file

BEFORE, AFTER, WORD = "$s_{t-1}$", "$s_t$", "$y_{t-1}$"
LOOK, CONTEXT, MIXED, OUT = "attend to $h$", "$c_t$", r"$\tilde h_t$", "logits"
PATHS: list[dict[str, Any]] = [
    {
        "title": "Bahdanau: attend, then step",
        "places": {
            LOOK: (1.3, 4), CONTEXT: (4, 4), BEFORE: (0, 2), AFTER: (4, 2), WORD: (4, 0),
            OUT: (6.2, 2),
        },
        "arrows": [(WORD, AFTER), (AFTER, OUT), (CONTEXT, OUT), (WORD, OUT)],
        "loop": [(BEFORE, LOOK), (LOOK, CONTEXT), (CONTEXT, AFTER), (BEFORE, AFTER)],
    },
    {
        "title": "Luong: step, then attend",
        "places": {
            LOOK: (2, 4), CONTEXT: (4.2, 4), BEFORE: (0, 2), AFTER: (2, 2), WORD: (2, 0),
            MIXED: (4.2, 2), OUT: (6.2, 2),
        },
        "arrows": [
            (WORD, AFTER), (AFTER, LOOK), (LOOK, CONTEXT), (CONTEXT, MIXED), (AFTER, MIXED),
            (MIXED, OUT),
        ],
        "loop": [(BEFORE, AFTER)],
    },
]  # fmt: skip
OTHER_CELLS = ("seq2seq, RNN", "seq2seq, LSTM")


def two_orders() -> None:
    """One step of either model, with thick arrows for what the next step has to wait for."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(2, figsize=(5.2, 5.6))
    for ax, path in zip(axes, PATHS, strict=True):
        boxes = {}
        for name, (x, y) in path["places"].items():
            frame = {"boxstyle": "round", "facecolor": "white"}
            text = ax.text(x, y, name, ha="center", va="center", bbox=frame)
            boxes[name] = text.get_bbox_patch()
        for start, end in [*path["arrows"], *path["loop"]]:
            style = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.2}
            if (start, end) in path["loop"]:
                style |= {"color": COLOURS[4], "linewidth": 3}
            style |= {"patchA": boxes[start], "patchB": boxes[end]}
            ax.annotate("", path["places"][end], path["places"][start], arrowprops=style)
        ax.set(xlim=(-0.7, 6.9), ylim=(-0.6, 4.6))
        ax.set_title(path["title"], fontsize=12)
        ax.axis("off")
    plt.show()


def attention(model: Any, task: ToyTask) -> Explorer:
    """What a model attends to where it predicts the sentence about the robot."""
    _, robot = toy.EXAMPLES
    text = " ".join(robot.src), " ".join(robot.tgt)
    src, tgt = task.src_vocabulary.encode(text[0]), task.tgt_vocabulary.encode(text[1])
    pair = Batch.of([(src, tgt)])
    [weights] = forced_attention(model, pair.src, pair.tgt_in)["attention"]
    rows = [f"{word} ({gloss})" for word, gloss in zip(robot.tgt, robot.gloss, strict=True)]
    return attention_explorer(
        weights[0],
        [*rows, "EOS"],
        [*robot.src, "EOS"],
        gold=robot.alignment,
        caption=text[0],
    )


def where_misses_go() -> None:
    """Which share of the misses goes to the right, for encoders that read in either order."""
    import matplotlib.pyplot as plt
    import pandas as pd

    looks = pd.read_csv(course_file("records/recurrent_looks.csv"))
    _, ax = plt.subplots(figsize=(5.6, 2.0))
    orders = {"right to left": COLOURS[4], "left to right": COLOURS[0]}
    for y, (order, colour) in enumerate(orders.items()):
        some = looks[looks.reads == order]
        places = [round(share) for share in 100 * some.right / (some.right + some.left)]
        ax.plot(places, [y] * len(places), "o", color=colour, alpha=0.6)
    ax.axvline(50, color="grey", linestyle=":")
    ax.set_yticks([0, 1], [f"encoder reads\n{order}" for order in orders])
    ax.set(xlim=(0, 100), ylim=(-0.5, 1.5))
    ax.set_xlabel("misses that go to the right, in % (each dot a model)")
    plt.show()


def _runs() -> dict[str, Any]:
    """The five seeds of the record that chose nothing, by model; of the first, GRUs alone."""
    import pandas as pd

    record = pd.read_csv(course_file("records/recurrent.csv"))
    fresh = record[record.seed > 0]  # seed 0 chose the learning rates
    runs = dict(list(fresh.groupby("model", sort=False)))
    return {name: mine for name, mine in runs.items() if name not in OTHER_CELLS}


def what_it_costs() -> Any:
    """The parameters, the time and the alignment errors of the models of chapters 2 to 4."""
    import pandas as pd

    runs, rows = _runs(), []
    times = pd.read_csv(course_file("records/recurrent_times.csv")).set_index("model")
    for name, mine in runs.items():
        row = {"parameters": mine.parameters.iloc[0]}
        row["time of a step (GRU = 1)"] = f"{times.ratio_to_gru[name]:.1f}"
        # One vector attends to nothing.
        row["alignment error"] = "–"
        if mine.aer.notna().all():
            found = f"{mine.aer.mean():.2f} ({mine.aer.min():.2f}–{mine.aer.max():.2f})"
            row["alignment error"] = found
        rows.append(row)
    return table(rows, rows=[*runs])


def exactly_right() -> None:
    """The share of exact translations by length, from the lowest to the highest seed."""
    import matplotlib.pyplot as plt

    columns = [length.replace("–", "-") for length in BINS]
    fig, ax = plt.subplots(figsize=(5.4, 4.2))
    for i, (name, runs) in enumerate(_runs().items()):
        mine = 100 * runs[columns]
        mean = mine.mean().round()
        around = [mean - mine.min().round(), mine.max().round() - mean]
        places = [place + 0.08 * (i - 2) for place in range(len(columns))]
        style: dict[str, Any] = {"marker": "o", "markersize": 4, "capsize": 3}
        ax.errorbar(places, mean, around, label=name, **style)
    ax.set_xticks(range(len(columns)), BINS)
    ax.set(xlabel="morphemes", ylabel="% exactly right", ylim=(-2, 104))
    fig.legend(loc="outside upper center", ncols=2, frameon=False)
    plt.show()

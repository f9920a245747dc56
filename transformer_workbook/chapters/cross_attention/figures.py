from collections.abc import Mapping, Sequence
from typing import Any

from annotated_transformer import toy
from annotated_transformer.batches import Batch
from annotated_transformer.evaluation import forced_attention
from transformer_workbook.notebook import COLOURS, ToyTask, arrow, attention_explorer, box
from transformer_workbook.notebook.explorer import Explorer

ORANGE, BLUE = "#ffdf9e", "#cfe3f5"  # of the target, of the source


def five_attentions() -> None:
    """Draw what is plugged into the five kinds of attention, and from which sentence it comes."""
    import matplotlib.pyplot as plt

    q, k, v = "$x_t W^Q$", "$x_j W^K$", "$x_j W^V$"
    before = ("$s_{t-1}$", "additive", "$W_h h_j$", "$h_j$")
    after = ("$s_t$", "dot", "$h_j$", "$h_j$")
    within = (q, "scaled dot", k, v)
    across = (q, "scaled dot", "$m_j W^K$", "$m_j W^V$")
    masked = r"masked self-attention in the decoder ($j \leq t$)"
    kinds = {
        "Bahdanau": (before, (ORANGE, BLUE)),
        "Luong, dot": (after, (ORANGE, BLUE)),
        "self-attention in the encoder": (within, (BLUE, BLUE)),
        masked: (within, (ORANGE, ORANGE)),
        "cross-attention": (across, (ORANGE, BLUE)),
    }
    _, axes = plt.subplots(5, figsize=(5.2, 7.8))
    for ax, (title, (plugs, colours)) in zip(axes, kinds.items(), strict=True):
        _one_attention(ax, title, plugs, colours)
    plt.show()


def _one_attention(ax: Any, title: str, plugs: Sequence[str], colours: Sequence[str]) -> None:
    query, score, keys, values = plugs
    box(ax, 0.5, 0, query, colours[0], 11)
    box(ax, 2.6, 0, score, "white", 10)
    box(ax, 4.4, 0, "weights", "white", 10)
    box(ax, 6, 0, "sum", "white", 10)
    box(ax, 2.6, 1.3, keys, colours[1], 11)
    box(ax, 6, 1.3, values, colours[1], 11)
    for start, end in ((1.1, 1.75), (3.4, 3.7), (5.05, 5.6)):
        arrow(ax, (start, 0), (end, 0))
    for place in (2.6, 6):
        arrow(ax, (place, 0.9), (place, 0.4))
    for place, height, word in ((0.5, 0, "query"), (2.6, 1.3, "keys"), (6, 1.3, "values")):
        ax.text(place, height + 0.5, word, ha="center", size=9)
    ax.set(xlim=(-0.3, 6.8), ylim=(-0.5, 2.2))
    ax.set_title(title, fontsize=11, loc="left")
    ax.axis("off")


def decoder_layer() -> None:
    """Draw a decoder layer: three sub-layers, from bottom to top, and the memory beside them."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.2, 3.6))
    names = ("masked self-attention", "cross-attention", "feed-forward network")
    for name, height in zip(names, (0, 1.5, 3), strict=True):
        box(ax, 0, height, name, ORANGE, 11)
        arrow(ax, (0, height - 1.1), (0, height - 0.35))
    arrow(ax, (0, 3.35), (0, 4.1))
    box(ax, 3.4, 1.5, "memory", BLUE, 11)
    arrow(ax, (2.75, 1.5), (1.25, 1.5))
    ax.text(2.0, 1.62, "keys,\nvalues", ha="center", size=9)
    ax.text(0.12, 0.7, "queries", size=9)
    ax.text(0.12, -0.95, "target so far", size=9)
    ax.text(0.12, 3.85, "to the next layer", size=9)
    ax.text(3.4, 0.75, "from the encoder", ha="center", size=9)
    ax.set(xlim=(-1.6, 4.6), ylim=(-1.3, 4.3))
    ax.axis("off")
    plt.show()


def robot(task: ToyTask, model: Any) -> Explorer:
    """Show where a Transformer attends in the source while it predicts the robot sentence."""
    pair = toy.EXAMPLES[1]
    one = Batch.of(task.examples("train")[1:2])
    captured = forced_attention(model, one.src, one.tgt_in)
    morphemes = (f"{word} ({gloss})" for word, gloss in zip(pair.tgt, pair.gloss, strict=True))
    return attention_explorer(
        {name: weights[0] for name, [weights] in captured.items() if "cross_attention" in name},
        [*morphemes, "EOS"],
        [*pair.src, "EOS"],
        gold=pair.alignment,
        caption=" ".join(pair.src),
    )


def losses(by_source: Mapping[str, float]) -> None:
    """Draw the loss with each source."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.2, 2.4))
    values = [round(loss, 1) for loss in by_source.values()]
    bars = ax.barh(list(by_source), values, color=COLOURS[0])
    ax.bar_label(bars, fmt="%.1f", padding=3)
    ax.invert_yaxis()
    ax.set(xlabel="loss per token (nats)", xlim=(0, 5.4))
    plt.show()

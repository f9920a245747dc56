from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

from annotated_transformer.toy import Pair
from transformer_workbook.notebook import COLOURS, heat_map


def title(name: str) -> str:
    """The name of an attention as a reader says it.

    >>> title("encoder.0.self_attention")
    'encoder 1, self'
    """
    stack, number, kind = name.split(".")
    return f"{stack} {int(number) + 1}, {kind.removesuffix('_attention')}"


def heads(
    weights: Mapping[str, Float[Tensor, "sentence head query key"]], one: int, pair: Pair
) -> None:
    """All heads of a model on one sentence, a column for each attention; the text quotes it."""
    import matplotlib.pyplot as plt
    from myst_nb import glue

    read, said = len(pair.src) + 1, len(pair.tgt) + 1  # EOS, BOS
    _, axes = plt.subplots(4, 6, figsize=(8, 5.2))
    for column, (name, w) in zip(axes.T, weights.items(), strict=True):
        n = read if "encoder" in name else said
        keys = read if "cross" in name else n
        for h, ax in enumerate(column):
            pixels = (100 * w[one, h, :n, :keys]).round().tolist()
            ax.imshow(pixels, cmap="Blues", vmin=0, vmax=100)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set(visible=True, color="lightgrey")
        column[0].set_title(title(name), fontsize=10)
    for h, ax in enumerate(axes[:, 0]):
        ax.set_ylabel(f"head {h + 1}", fontsize=10)
    plt.show()
    glue("of-the-maps", " ".join(pair.src), display=False)


def effects(rise: Mapping[tuple[str, int], float]) -> None:
    """The effect of zero ablation of each head; the text names the head of the largest effect."""
    import matplotlib.pyplot as plt
    from myst_nb import glue

    names = list(dict.fromkeys(name for name, _ in rise))
    _, ax = plt.subplots(figsize=(8, 2.8))
    shown = [[round(rise[name, h], 2) + 0.0 for name in names] for h in range(4)]
    ax.imshow(shown, cmap="Blues", vmin=0, vmax=0.3, aspect="auto")
    for y, row in enumerate(shown):
        for x, value in enumerate(row):
            ink = "white" if value > 0.18 else "black"
            ax.text(x, y, f"{value:.2f}", ha="center", va="center", c=ink)
    ax.set_xticks(range(6), map(title, names), fontsize=10)
    ax.set_yticks(range(4), [f"head {h + 1}" for h in range(4)], fontsize=10)
    ax.set_title("effect of zero ablation: rise of the loss (nats)")
    plt.show()
    name, h = max(rise, key=lambda head: rise[head])
    glue("missed", f"{title(name)}, head {h + 1}", display=False)
    glue("small", str(sum(x < 0.01 for x in rise.values())), display=False)


def one_head(weights: Float[Tensor, "query key"], pair: Pair) -> None:
    """The attention map of a head of the decoder in one sentence, morpheme by morpheme."""
    import matplotlib.pyplot as plt

    labels = ["BOS", *(f"{m} ({g})" for m, g in zip(pair.tgt, pair.gloss, strict=True))]
    _, ax = plt.subplots(figsize=(6.2, 5.2))
    heat_map(ax, weights[: len(labels), : len(labels)], labels, labels)
    ax.set(xlabel="key: attended to", ylabel="query: just read")
    plt.show()


def rises(rises: Mapping[str, float]) -> None:
    """How far the loss rises with other weights after an ending, and by zero ablation."""
    import matplotlib.pyplot as plt
    from myst_nb import glue

    _, ax = plt.subplots(figsize=(5.2, 2.4))
    values = [round(x, 2) + 0.0 for x in rises.values()]
    bars = ax.barh(list(rises), values, color=[*[COLOURS[0]] * (len(values) - 1), "grey"])
    ax.bar_label(bars, fmt="%.2f", padding=3)
    ax.invert_yaxis()
    ax.set(xlabel="rise of the loss (nats)", xlim=(0, 1.2 * max(values)))
    plt.show()
    for name, value in {"itself": values[0], "endings": values[1], "nothing": values[-2]}.items():
        glue(f"rise-{name}", f"{value:.2f}", display=False)

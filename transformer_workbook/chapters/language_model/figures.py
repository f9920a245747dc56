from collections.abc import Mapping, Sequence
from typing import Any

import torch

from annotated_transformer.batches import Batch
from annotated_transformer.evaluation import forced_attention
from annotated_transformer.toy import Pair
from transformer_workbook.notebook import ToyTask, heat_map, table


def targets_of_the_loss(text: Sequence[str], targets: Sequence[str]) -> Any:
    """What a language model reads of a pair, and which next words its loss counts."""
    return table([text, [word or "–" for word in targets]], ["read", "to be predicted"])


def looks(seen: Mapping[str, Any], pair: Pair) -> None:
    """Every layer, the mean of its heads, at the words about to be written; gold links outlined."""
    import matplotlib.pyplot as plt

    korean = [f"{word} ({gloss})" for word, gloss in zip(pair.tgt, pair.gloss, strict=True)]
    columns = ["⏎", *korean, "=", *pair.src[:-1]]
    gold = {(1 + j, i) for i, j in pair.alignment}
    _, axes = plt.subplots(1, len(seen), figsize=(11, 3.3))
    for number, (ax, [weights]) in enumerate(zip(axes, seen.values(), strict=True), 1):
        rows = weights[0].mean(dim=0)[len(pair.tgt) + 1 : -1, :-1]  # (english, row - 1)
        heat_map(ax, rows.double(), pair.src, columns, gold=gold)
        ax.set_title(f"layer {number}", fontsize=11)
        ax.set(xlabel="looks at", ylabel="is about to write")
        ax.tick_params(labelsize=9)
        ax.label_outer()
    plt.show()


def alignment(
    task: ToyTask, model: torch.nn.Module, errors: Mapping[str, float], pair: Pair
) -> None:
    """All layers on one sentence, with the gold links; the text quotes errors and one weight."""
    import matplotlib.pyplot as plt
    from myst_nb import glue

    batch = Batch.of(task.vocabularies.encode([(" ".join(pair.src), " ".join(pair.tgt))]))
    found = forced_attention(model, batch.src, batch.tgt_in)
    glosses = [f"{word} ({gloss})" for word, gloss in zip(pair.tgt, pair.gloss, strict=True)]
    text = [*pair.src, "EOS", "BOS", *pair.tgt]
    tiger = pair.tgt.index("호랑이"), pair.src.index("tiger")
    _, axes = plt.subplots(2, 2, figsize=(9.4, 6.2))
    for number, (ax, (name, [weights])) in enumerate(zip(axes.flat, found.items(), strict=True), 1):
        rows = weights[0].mean(dim=0)[batch.src.size(1) :]  # of the target, all heads
        heat_map(ax, rows, [*glosses, "EOS"], text, gold=pair.alignment)
        ax.set_title(f"layer {number}: alignment error rate {errors[name]:.2f}", fontsize=11)
        ax.set(xlabel="attended to", ylabel="to be predicted")
        ax.tick_params(labelsize=9)
        ax.label_outer()
        glue(f"tiger-{number}", f"{rows[tiger]:.2f}", display=False)
    plt.show()
    best = min(errors, key=lambda name: errors[name])
    glue("best-layer", str(1 + list(errors).index(best)), display=False)
    glue("best-error", f"{errors[best]:.2f}", display=False)
    first, *_, last = errors.values()
    glue("first-error", f"{first:.2f}", display=False)
    glue("last-error", f"{last:.2f}", display=False)

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from annotated_transformer.text.examples import Example
from annotated_transformer.toy import Pair
from transformer_workbook.notebook import exactly_right
from transformer_workbook.notebook.proofs import agree, holds, proof
from transformer_workbook.places import course_file

Weights = Float[Tensor, "sentence head query key"]
OfOne = Float[Tensor, "sentence query key"]


@proof
def zero_ablation(
    model: Any,
    weights: Mapping[str, Weights],
    loss: Callable[[], float],
    loss_with: Callable[[str, int, OfOne], float],
) -> None:
    """Weights of zero ablate a head as a zero block of W^O does."""
    blocks, zeros = [], []
    for name, w in weights.items():
        with _without(model, name, 1):
            blocks.append(loss())
        zeros.append(loss_with(name, 1, 0 * w[:, 1]))
    names = (
        "the losses with a head's block of W^O set to zero",
        "those with its weights set to zero",
    )
    agree(1e-12, dict(zip(names, torch.tensor([blocks, zeros]), strict=True)))


@contextmanager
def _without(model: Any, name: str, h: int) -> Iterator[None]:
    attention = model.get_submodule(name)
    stripes = attention.output.weight.detach().chunk(attention.num_heads, dim=1)
    before = stripes[h].clone()  # (d_model, d)
    stripes[h].zero_()
    try:
        yield
    finally:
        stripes[h].copy_(before)


@proof
def largest_effect(
    model: Any, test: Sequence[Example], damage: Mapping[tuple[str, int], float], share: float
) -> None:
    """Zero ablation of one head costs a third of the right translations; the text says how many.

    ``share`` is how many it has right with all heads.
    """
    from myst_nb import glue

    with _without(model, *max(damage, key=lambda head: damage[head])):
        right = exactly_right(model, test)
    gone = sum(right) / len(right)
    claim = "zero ablation of one head makes over a third of the right translations wrong"
    holds(claim, gone < 2 / 3 * share)
    glue("share", f"{share:.0%}", display=False)
    glue("gone", f"{gone:.0%}", display=False)


@proof
def collects_endings(
    head: OfOne, ending: Bool[Tensor, "sentence token"], pairs: Sequence[Pair]
) -> None:
    """The head attends to earlier endings, and hardly to earlier copies; the text says how much."""
    from myst_nb import glue

    mine, by_luck = [], []
    for pair, w in zip(pairs, head.tolist(), strict=True):
        for t, morpheme in enumerate(pair.tgt):
            before = [u for u in range(t) if pair.tgt[u] == morpheme]
            if before:  # the key of morpheme u is at position u + 1
                mine.append(sum(w[t + 1][u + 1] for u in before))
                by_luck.append(len(before) / (t + 2))
    twice, even = sum(mine) / len(mine), sum(by_luck) / len(by_luck)
    holds(
        "a repeated morpheme gives its earlier positions not half as much again as even weights",
        twice < 1.5 * even,
    )
    own = head.diagonal(dim1=1, dim2=2)  # (sentence, query)
    earlier = (head * ending[:, None]).sum(dim=-1) - own
    several = earlier[ending & (ending.cumsum(dim=1) > 1)].mean()
    claim = "after an ending, earlier endings get over a tenth of the weight, where there are any"
    holds(claim, several > 0.1)
    glue("earlier", f"{several:.2f}", display=False)
    glue("twice", f"{twice:.2f}", display=False)
    glue("twice-even", f"{even:.2f}", display=False)


def numbers() -> None:
    """Glue the numbers of the text, from the records of five more Transformers."""
    import pandas as pd
    from myst_nb import glue

    runs, longer = (
        pd.read_csv(course_file(f"records/{name}.csv")).query("seed > 0 and model == 'Transformer'")
        for name in ("heads", "heads_longer")  # seed 0 chose the rates
    )
    where, later = (some.most_missed.str.split().str[0] for some in (runs, longer))
    place = where.value_counts().idxmax()
    stack, layer, kind = place.removesuffix("_attention").split(".")
    glue("place", f"{stack} {int(layer) + 1}, {kind}", display=False)
    for name, places in (("there", where), ("there-longer", later)):
        number = int((places == place).sum())
        said = "all five" if number == len(places) == 5 else f"{number} of five"
        glue(name, said, display=False)
    glue("harmless-low", f"{runs.harmless.min():.0f}", display=False)
    glue("harmless-high", f"{runs.harmless.max():.0f}", display=False)

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from annotated_transformer.text.examples import Example
from annotated_transformer.transformer import Transformer
from transformer_workbook.notebook.proofs import holds, proof


@proof
def train_alike(train_patient: Any, train: Sequence[Example]) -> None:
    """The bugs of patients 1 and 8 have no effect in training."""
    of_healthy, of_1, of_8 = (
        train_patient(number, train, steps=5, batch_tokens=256)[1] for number in (0, 1, 8)
    )
    claim = "the first five losses of patients 1 and 8 are those of the healthy model"
    holds(claim, of_healthy == of_1 == of_8)


@proof
def learns_fastest(curves: Mapping[int, Sequence[float]]) -> None:
    """Patient 3 learns fastest at first."""
    early = {number: sum(curve[20:100]) for number, curve in curves.items()}
    lowest = min(early, key=lambda number: early[number])
    holds("on average over steps 20 to 100, patient 3 has the lowest training loss", lowest == 3)


@proof
def four_losses(rows: Sequence[Mapping[str, Any]]) -> None:
    """Only four of the nine models have one loss, however it is measured."""
    ways = ["40 at once", "again", "one at a time", "incremental"]
    losses = torch.tensor([[row[way] for way in ways] for row in rows])
    agree = (losses.amax(dim=1) - losses.amin(dim=1) < 1e-9).nonzero().flatten().tolist()
    claim = "the four losses of the healthy model and of patients 2, 5 and 7 agree to 1e-9"
    holds(f"{claim}, those of the others do not", agree == [0, 2, 5, 7])


@proof
def leaks(with_leak: Callable[[int], Bool[Tensor, "word position"]]) -> None:
    """A mask that reaches one word too far leaks one more word with each layer."""
    expected = {n: torch.ones(5, 5).triu(diagonal=-n).bool() for n in range(1, 5)}
    claim = "with 1, 2, 3 and 4 layers, the mask that reaches one word too far leaks as many words"
    holds(claim, all(torch.equal(with_leak(n), map_) for n, map_ in expected.items()))


@proof
def one_batch(rows: Sequence[Mapping[str, Any]]) -> None:
    """All models memorise one batch; measuring it again and decoding it catches some of them."""
    last = [row["last training loss"] for row in rows]
    best = min(last) == last[3]
    claim = "all nine memorise the batch, with a loss below 0.1, and patient 3 has the lowest"
    holds(claim, max(last) < 0.1 and best)
    wrong = {n for n, row in enumerate(rows) if row["exact matches, of 8"] < 8}
    holds("patient 3 translates none of the eight", rows[3]["exact matches, of 8"] == 0)
    high = {n for n, row in enumerate(rows) if row["evaluation loss"] > 0.1}
    claim = (
        "of the others none but patients 1 and 4 may mistranslate some, and only patient 8 has an "
        "evaluation loss above 0.1, not counting patient 4, whose dropout is random"
    )
    holds(claim, wrong <= {1, 3, 4} and high - {4} == {8})


@proof
def signs_differ(found: Sequence[Sequence[bool]]) -> None:
    """The set of failed tests names the mistake."""
    holds("the healthy model passes every test", all(row[0] for row in found))
    different = len(set(zip(*found, strict=True))) == len(found[0])
    holds("no two patients fail the same set of tests", different)


@proof
def one_position_is_split_alike(models: Mapping[int, Transformer]) -> None:
    """Patient 3 splits one position like the healthy model, and five positions otherwise."""
    attentions: list[Any] = [models[number].decoder[0].self_attention for number in (0, 3)]
    one, five = (
        torch.equal(*(attention.split(x) for attention in attentions))
        for x in (torch.randn(1, 1, 32), torch.randn(1, 5, 32))
    )
    holds(
        "patient 3 splits one position like the healthy model, and five otherwise", one and not five
    )


@proof
def copies_drift_apart(
    layers_differ: Callable[[Transformer], bool], fresh: Transformer, trained: Transformer
) -> None:
    """Training hides that patient 5 began with copies."""
    holds("before training, patient 5 fails the test “layers differ”", not layers_differ(fresh))
    holds("after 200 steps it passes", layers_differ(trained))

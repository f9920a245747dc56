"""Find the bug: which patient has which mistake, and why not another."""

from functools import cache
from itertools import combinations
from typing import Any

import torch
from torch import nn

from annotated_transformer.capture import capture_attention
from annotated_transformer.devices import same_randomness
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.transformer import Transformer
from transformer_workbook.exercises.cases import normal
from transformer_workbook.faulty.models import patient
from transformer_workbook.judge.tasks import Verdict
from transformer_workbook.old_exercises.find_the_bug.diagnosis import (
    SRC,
    TGT_IN,
    Test,
)
from transformer_workbook.old_exercises.find_the_bug.future import hides_the_future
from transformer_workbook.old_exercises.find_the_bug.norms import norms_agree
from transformer_workbook.old_exercises.find_the_bug.padding import (
    ignores_padding,
)
from transformer_workbook.old_exercises.find_the_bug.steps import (
    steps_agree,
)


def repeats_itself(model: Transformer) -> bool:
    """Whether two runs give the same in evaluation mode."""
    model.eval()
    return torch.equal(model(SRC, TGT_IN), model(SRC, TGT_IN))


def layers_differ(model: Transformer) -> bool:
    """Whether no two layers of a stack have the same weights."""
    for stack in (model.encoder, model.decoder):
        weights: Any = [layer.feed_forward.inner.weight for layer in stack]  # type: ignore[union-attr]
        if any(torch.equal(a, b) for a, b in combinations(weights, 2)):
            return False
    return True


def rows_sum_to_one(model: Transformer) -> bool:
    """Whether each row of attention weights sums to 1, in all layers and heads."""
    model.eval()
    with torch.no_grad(), capture_attention(model) as captured:
        model(SRC, TGT_IN)
    rows = [weights.sum(-1) for calls in captured.values() for weights in calls]
    return all(torch.allclose(row, torch.ones_like(row)) for row in rows)


def agrees_with_torch(model: Transformer) -> bool:
    """Whether each attention layer, given the same weights, computes what PyTorch's computes."""
    model.eval()
    for ours in [part for part in model.modules() if isinstance(part, MultiHeadAttention)]:
        x = normal(2, 5, ours.output.out_features, seed=0)
        theirs = nn.MultiheadAttention(x.size(-1), ours.num_heads, batch_first=True).double()
        parts = ours.query, ours.key, ours.value
        theirs.in_proj_weight.data = torch.cat([part.weight for part in parts])
        theirs.in_proj_bias.data = torch.cat([part.bias for part in parts])
        theirs.out_proj.load_state_dict(ours.output.state_dict())
        if not torch.allclose(ours(x, x, x), theirs(x, x, x)[0]):
            return False
    return True


LETTERS = {"A": 8, "B": 2, "C": 7, "D": 1, "E": 4, "F": 6, "G": 5, "H": 3}
"""The patient that has the mistake of each letter; the chapter says in words which it is."""

SIGNS: dict[str, tuple[Test, str, str]] = {
    "repeats itself": (
        repeats_itself,
        "gives the same logits every time",
        "gives other logits every time",
    ),
    "layers differ": (
        layers_differ,
        "has layers that start from different weights",
        "has layers that start from the same weights",
    ),
    "norms agree": (
        norms_agree.reference,
        "normalises its layers as PyTorch does",
        "normalises its layers otherwise than PyTorch",
    ),
    "rows sum to 1": (
        rows_sum_to_one,
        "has attention weights whose rows sum to 1",
        "has attention weights whose rows do not sum to 1",
    ),
    "agrees with PyTorch": (
        agrees_with_torch,
        "has attention layers that agree with PyTorch's",
        "has attention layers that do not agree with PyTorch's",
    ),
    "ignores padding": (
        ignores_padding.reference,
        "does not notice padding after the source",
        "notices padding after the source",
    ),
    "hides the future": (
        hides_the_future.reference,
        "sees no later word when it does not train",
        "sees later words when it does not train",
    ),
    "steps agree": (
        steps_agree.reference,
        "writes word by word what it gives all at once",
        "gives other logits word by word than all at once",
    ),
}
"""Each test: the function, and what a patient does that passes it, or fails it."""


@cache
def passes(sign: str, number: int) -> bool:
    """Whether a patient passes a test; patient 0 is healthy."""
    with same_randomness():
        torch.manual_seed(0)
        return SIGNS[sign][0](patient(number))


def name_the_mistake(number: int, letter: str | None) -> Verdict:
    """Judge the letter that was chosen for a patient; a wrong one is refuted by a test.

    >>> name_the_mistake(1, "E")
    wrong: a model with that mistake gives other logits every time; patient 1 gives the same ...
    """
    if letter is None:
        return Verdict("not attempted")
    letter = str(letter).strip().upper()
    if number not in LETTERS.values():
        return Verdict("wrong", f"there is no patient {number}; they have the numbers 1 to 8.")
    if letter not in LETTERS:
        return Verdict("wrong", f"there is no mistake {letter!r}; they have the letters A to H.")
    suspect = LETTERS[letter]
    if suspect == number:
        return Verdict("right")
    for sign, (_, passing, failing) in SIGNS.items():
        would, does = passes(sign, suspect), passes(sign, number)
        if would != does:
            words = (passing if would else failing), (passing if does else failing)
            return Verdict(
                "wrong", f"a model with that mistake {words[0]}; patient {number} {words[1]}."
            )
    raise AssertionError(f"no test tells {letter} from patient {number}")

"""Which patient of the chapter "Find the bug" has which mistake, and why not another."""

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

import torch
from torch import nn

from annotated_transformer.capture import capture_attention
from annotated_transformer.ground.devices import same_randomness
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.transformer import Transformer
from transformer_workbook.chapters.find_the_bug.cases import SRC, TGT_IN, Test
from transformer_workbook.chapters.find_the_bug.exercises import (
    hides_the_future,
    ignores_padding,
    norms_agree,
    steps_agree,
)
from transformer_workbook.chapters.find_the_bug.faulty.models import patient
from transformer_workbook.judge import Verdict, normal, question


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

SIGNS: dict[str, Test] = {
    "repeats itself": repeats_itself,
    "layers differ": layers_differ,
    "norms agree": norms_agree.reference,
    "rows sum to 1": rows_sum_to_one,
    "agrees with PyTorch": agrees_with_torch,
    "ignores padding": ignores_padding.reference,
    "hides the future": hides_the_future.reference,
    "steps agree": steps_agree.reference,
}
"""The tests, in the order in which they refute a wrong letter."""


@cache
def passes(sign: str, number: int) -> bool:
    """Whether a patient passes a test; patient 0 is healthy."""
    with same_randomness():
        torch.manual_seed(0)
        return bool(SIGNS[sign](patient(number)))


@question
def mistake_of_patient(choice: tuple[int, str], say: Callable[..., str]) -> str:
    """Which patient has which mistake?"""
    number, letter = choice[0], choice[1].strip().upper()
    if number not in LETTERS.values():
        return say("no patient", number=number)
    if letter not in LETTERS:
        return say("no mistake", letter=letter)
    suspect = LETTERS[letter]
    if suspect == number:
        return ""
    sign = next(sign for sign in SIGNS if passes(sign, suspect) != passes(sign, number))
    return say(f"{sign}: {'passed' if passes(sign, number) else 'failed'}", number=number)


def name_the_mistake(number: int, letter: str | None) -> Verdict:
    """Judge the letter that was chosen for a patient; a wrong one is refuted by a test.

    >>> name_the_mistake(1, "E")
    wrong: a model with that mistake gives other logits every time; patient 1 gives the same ...
    """
    return mistake_of_patient.check(None if letter is None else (number, str(letter)))

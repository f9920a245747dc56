"""Layers: what fresh stacks do to the size of a vector, and to what tells words apart."""

import math
from functools import cache
from statistics import median
from typing import Any

import torch
from torch.nn import functional as F

from annotated_transformer.layers import FeedForward
from annotated_transformer.multi_head_attention import MultiHeadAttention
from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.comparing import form, is_number, show
from transformer_workbook.judge.trials import settings_put_back
from transformer_workbook.old_exercises.old_question import Question, by_number

WORDS, WIDTH, HEADS = 8, 32, 4


@cache
def _growth(few: int = 100, many: int = 400) -> float:
    """How many times as large a fresh pre-norm stack's sum is after many layers as after few."""
    x, found = normal(3, WORDS, WIDTH, seed=0), []
    with settings_put_back(), torch.no_grad():
        for seed in range(3):
            torch.manual_seed(seed)
            y, sizes = x, {}
            for layer in range(1, many + 1):
                network = FeedForward(WIDTH, 2 * WIDTH).double()
                y = y + network(F.layer_norm(y, y.shape[-1:]))
                sizes[layer] = y.norm().item()
            found.append(sizes[many] / sizes[few])
    return sum(found) / len(found)


@Question
def pre_norm_growth(answer: Any) -> str:
    """How many times as large is the sum of a pre-norm stack of four times as many layers?"""
    if is_number(answer) and float(answer) > 4.8:
        return "even layers that add in one direction make it 4; divide one sum by the other."
    replies = {
        0.5: "this is upside down: divide the sum of many layers by that of few.",
        0.25: "this is upside down, and so it would be if all layers added in one direction.",
        1: "so it would be in post-norm, where each sum is normalised.",
        2**0.5: "so it is with twice as many layers.",
        3.8: "so it would be if all layers added in one direction; fresh ones add in random ones.",
        8**0.5: "so it is with eight times as many layers.",
    }
    return by_number(answer, round(_growth()), replies, within=0.2)


@cache
def _apart(factor: float, layers: int = 2) -> float:
    """How different words still are after fresh attentions, their matrices times a factor.

    The median of nine draws.
    """
    found = []
    with settings_put_back(), torch.no_grad():
        for seed in range(9):
            torch.manual_seed(seed)
            x = normal(1, WORDS, WIDTH, seed=seed)
            for _ in range(layers):
                attention = MultiHeadAttention(WIDTH, HEADS).double()
                for parameter in attention.parameters():
                    parameter.mul_(factor if parameter.dim() > 1 else 1)
                x = attention(x, x, x)
            found.append(((x - x.mean(1, keepdim=True)).norm() / x.norm()).item())
    return median(found)


@Question
def keeps_words_apart(answer: Any) -> str:
    """Which factor on all matrices lets the words differ after two layers of attention?"""
    if not is_number(answer):
        return f"a number is asked for, not {form(answer)}."
    left = _apart(float(answer))
    if math.isnan(left):
        return "the numbers overflow with this factor; try a smaller one."
    told = f"with {show(float(answer))}, the median of nine draws is {left:.2g}"
    return "" if left > 0.5 else f"{told}; more than 0.5 is asked for."

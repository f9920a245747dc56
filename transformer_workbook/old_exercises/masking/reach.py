"""Masking: how far layers reach whose windows are narrow."""

import functools
from typing import Any

import torch

from transformer_workbook.old_exercises.old_question import Question, by_number

LAYERS, WIDTH = 3, 5


@functools.cache
def _reach(layers: int = LAYERS, width: int = WIDTH) -> int:
    """How many places back a layer above others sees, each of them through a window."""
    back = torch.arange(100)[:, None] - torch.arange(100)
    window = ((back >= 0) & (back < width)).double()
    seen = torch.linalg.matrix_power(window, layers)[-1]
    return int(back[-1, seen > 0].max())


@Question
def far_reach(answer: Any) -> str:
    """How many places back do three layers see, each through a window of five?"""
    return by_number(
        answer,
        _reach(),
        {
            LAYERS * WIDTH: "each layer reaches less far back: its window holds the place itself.",
            _reach() + 1: "these are all places that are seen; how many places back is the first?",
            _reach(layers=1): "this is the reach of one layer; what it reads has read others.",
            _reach() - 1: "one place more is seen: the first of the farthest window.",
            LAYERS * WIDTH - 1: "each window holds the place itself, not only the first one.",
            19
            - _reach(): "this is the place of the first; how many places back is it from the last?",
            LAYERS * (WIDTH + 1): "a window of five holds the place itself and four before it.",
            2
            * WIDTH: "this is twice the window; there are three layers, and each reaches less far.",
            LAYERS: "these are the layers; how far does each of them reach?",
            19: "all places are within reach only if the windows are wide or the layers many.",
            20: "all places are within reach only if the windows are wide or the layers many.",
            WIDTH: "this is the window of one layer; what it reads has read others.",
            _reach(layers=2): "this is the reach of two layers.",
            WIDTH**LAYERS: "the reach grows by the same number of places in every layer.",
            _reach(layers=1) ** LAYERS: "the reach grows by the same number in every layer.",
        },
    )

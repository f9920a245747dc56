"""A comment that states a shape is true whenever its line runs, in every model."""

import linecache
import re
import sys
from pathlib import Path

import pytest
import torch

import annotated_transformer
from annotated_transformer.batches import Batch
from annotated_transformer.decoding import Search, decode
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.models import MODELS
from small_models import random_examples, small_model

PACKAGE = Path(annotated_transformer.__file__).parent
STATED = re.compile(r"^\s*(\w+)(?:, \w+)*(?:: \w+)? = .*  # \(([^()]*)\)")
"""The first name that a line gives to something, and the axes that stand behind it."""

BATCH = Batch.of(random_examples(5))
SEARCHES = [Search(beam=3), Search(sample=True, top_k=3)]


def fits(axes, shape):
    """Whether a shape has these axes; … stands for any, a number for itself."""
    known = [axis for axis in axes if axis != "…"]
    if len(known) > len(shape) or ("…" not in axes and len(known) < len(shape)):
        return False
    pairs = zip(reversed(known), reversed(shape), strict=False)
    return all(not axis.isdecimal() or int(axis) == size for axis, size in pairs)


def shapes_while(run):
    """The stated and the real shapes of the lines of the package that a call runs, by place."""
    found = {}

    def trace(frame, event, arg):
        file = Path(frame.f_code.co_filename)
        if file.parent != PACKAGE:
            return None
        before = frame.f_lineno

        def local(frame, event, arg):
            nonlocal before
            stated = STATED.match(linecache.getline(str(file), before))
            value = frame.f_locals.get(stated[1]) if stated else None
            if isinstance(value, torch.Tensor):
                found[file.name, before, tuple(value.shape)] = stated[2].split(", ")
            before = frame.f_lineno
            return local

        return local

    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(None)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_stated_shapes_are_the_real_ones(name):
    model = small_model(name, **{"positions": "rotary"} if name == "language" else {})

    def run():
        smoothed_cross_entropy(model(*BATCH.inputs), BATCH.tgt_out, 0.1)
        for search in SEARCHES:
            decode(model, BATCH.src, search, [[5], [], [6, 7], [], []])

    found = shapes_while(run)
    assert len({place[:2] for place in found}) > 10
    assert {place: axes for place, axes in found.items() if not fits(axes, place[2])} == {}

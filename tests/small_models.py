"""Models and examples that are small enough to be checked by slow, obvious means."""

from collections.abc import Iterator
from dataclasses import Field, fields
from random import Random
from typing import Any, get_type_hints

import torch
from pydantic import TypeAdapter

from annotated_transformer.models import MODELS, make_config, make_model
from annotated_transformer.translator import State

VOCAB = 11
TRANSFORMERS = [
    {},
    {"share_embeddings": True, "norm_position": "pre", "norm": "rms"},
    {"positions": "learned", "tie_output": False, "num_kv_heads": 1, "activation": "swish"},
    {"positions": "rotary", "gated": True, "bias": False, "norm": "rms", "qk_norm": True},
]
"""Settings of Transformers that between them have every part."""


def choices_of(kind: Any) -> Iterator[tuple[Field[Any], list[str]]]:
    """The settings of a dataclass that are chosen from a table, with the names in it."""
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        if names := TypeAdapter(hints[field.name]).json_schema().get("enum"):
            yield field, names


CHOICES: dict[str, tuple[str, dict[str, Any]]] = {model: (model, {}) for model in MODELS} | {
    f"{model} {name}": (model, {field.name: name})
    for model, kind in MODELS.items()
    for field, names in choices_of(kind.config)
    for name in names
    if name != field.default
}
"""Every model as it is, and with every other name in the tables that its configuration has."""


def small_model(name, vocab=VOCAB, **changes):
    """A model of that name, in double precision."""
    sizes = {"d_model": 12, "hidden_dim": 10}
    if name in ("transformer", "language"):
        sizes = {"d_model": 12, "num_layers": 2, "num_heads": 2, "d_ff": 16, "dropout": 0.0}
    return make_model(name, make_config(name, vocab, vocab, sizes | changes)).double()


def tensors_of(state):
    """Every tensor of a state, of the states inside it too."""
    if isinstance(state, tuple):
        return [tensor for part in state for tensor in tensors_of(part)]
    if isinstance(state, State):
        return tensors_of(tuple(getattr(state, field.name) for field in fields(state)))
    return [] if state is None else [state]


def random_examples(count, longest=6, vocab=VOCAB, seed=0):
    """Pairs of one to ``longest`` random ids, none of them special."""
    random = Random(seed)

    def sentence():
        return [random.randrange(4, vocab) for _ in range(random.randint(1, longest))]

    return [(sentence(), sentence()) for _ in range(count)]


def assert_going_on_is_exact(begin, parts, steps):
    """Six steps are the same whether or not they are interrupted after some."""
    straight, first, second = begin(), begin(), begin()
    torch.manual_seed(2)
    history = [straight.update(parts) for _ in range(6)]
    torch.manual_seed(2)
    for _ in range(steps):
        first.update(parts)
    saved = {name: tensor.clone() for name, tensor in first.tensors().items()}
    torch.manual_seed(3)
    second.load(saved, steps)
    assert [second.update(parts) for _ in range(6 - steps)] == history[steps:]
    assert second.steps == 6
    ours, theirs = second.tensors(), straight.tensors()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(tensor, theirs[key]) for key, tensor in ours.items())

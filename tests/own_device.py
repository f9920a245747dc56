"""A device of our own, in Python over the processor's memory: it gives the processor's results.

So it is seen without a GPU that nothing stays behind on the processor: tensors of the two are not
mixed, and each has its own random numbers. ``test_devices.py`` runs this in a process of its own.
"""

import os
from dataclasses import astuple
from functools import partial

import torch
from torch.utils import backend_registration

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import Search
from annotated_transformer.evaluation import alignment_errors, perplexity
from annotated_transformer.fast import FastTrainer
from annotated_transformer.ground.devices import PRECISIONS, choose_device, device_of, move
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.models import MODELS
from annotated_transformer.training import Trainer
from annotated_transformer.translation import search_all
from small_models import random_examples, small_model

aten, CPU = torch.ops.aten, torch.device("cpu")


class Own(torch.Tensor):
    """A tensor of the device. Its numbers, where PyTorch does not look, are ``here``."""

    @staticmethod
    def __new__(cls, here):
        place = here.shape, here.stride(), here.storage_offset(), None, here.dtype
        with torch.inference_mode(here.is_inference()):  # a view of weights is none
            own = torch.Tensor._make_wrapper_subclass(cls, *place, device="own:0")
        own.here = here
        return own

    def __repr__(self):
        return f"own {self.here}"

    def tolist(self):  # that of PyTorch refuses subclasses
        return self.here.tolist()

    @classmethod
    def __torch_dispatch__(cls, op, types, args=(), kwargs=None):
        return compute(op, *args, **kwargs or {})


class OwnModule(backend_registration._DummyBackendModule):
    """``torch.own``."""

    state = torch.Generator().manual_seed(1).get_state()

    def get_rng_state(self):
        return self.state

    def set_rng_state(self, state):
        self.state = state


def each(change, value):
    """The value with its parts changed; lists and tuples are searched."""
    if isinstance(value, list | tuple):
        return type(value)(each(change, part) for part in value)
    return change(value)


def compute(op, *args, **kwargs):
    """Let the processor do what the device is asked for; what was given comes back as itself."""
    if op._can_decompose():
        return op.decompose(*args, **kwargs)
    given, stays = {}, kwargs.get("device") != CPU

    def take(value):
        if isinstance(value, torch.device):
            return CPU
        if not isinstance(value, torch.Tensor):
            return value
        if value.device == CPU and value.dim() and op is not aten.copy_.default:
            raise RuntimeError(f"{op} is given tensors of the device and of the processor.")
        numbers = getattr(value, "here", value)
        given[id(numbers)] = value
        return numbers

    def give(value):
        if id(value) in given:
            assert given[id(value)].shape == value.shape, f"{op} changes a shape"  # seen only here
            return given[id(value)]
        return Own(value) if isinstance(value, torch.Tensor) and stays else value

    args, kwargs = each(take, args), {name: each(take, value) for name, value in kwargs.items()}
    if torch.Tag.nondeterministic_seeded not in op.tags:
        return each(give, op(*args, **kwargs))
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(torch.own.state)
        result = op(*args, **kwargs)
        torch.own.state = torch.get_rng_state()
    return each(give, result)


backend_registration._setup_privateuseone_for_python_backend("own", OwnModule())
torch.__future__.set_swap_module_params_on_conversion(True)  # else .to() parts shared weights
# What __torch_dispatch__ is not asked: tensors made from nothing, and of lists by torch.tensor.
LIBRARY = torch.library.Library("aten", "IMPL")
for op in (
    aten.empty.memory_format, aten.empty_strided.default,
    aten.arange.default, aten.arange.start, aten.arange.start_step,
):  # fmt: skip
    LIBRARY.impl(op, partial(compute, op), "PrivateUse1")
LIBRARY.impl(
    "_copy_from", lambda src, to, *wait: compute(aten.copy_.default, to, src), "PrivateUse1"
)

OWN = choose_device()
EXAMPLES, PREFIXES = random_examples(4, longest=4), [[4], [], [5, 6], []]
GOLD = [frozenset({(0, 0)})] * len(EXAMPLES)
same = partial(torch.testing.assert_close, rtol=1e-6, atol=1e-9)


def trainer(name, device, seed=1, dropout=0.0):
    torch.manual_seed(seed)
    model = move(small_model(name, dropout=dropout), device)
    return Trainer(model, smoothed_cross_entropy, lambda step: 0.01, average_decay=0.9)


def fast(device, precision):
    torch.manual_seed(1)
    model = move(small_model("transformer").float(), device)
    return FastTrainer(model, 0.1, lambda step: 0.01, precision=precision)


def steps(trainer, count):
    batch = Batch.of(EXAMPLES, device_of(trainer.model))
    return [trainer.update([batch]) for _ in range(count)]


def kept(trainer):
    """The numbers that a file keeps."""
    return {name: tensor.to(CPU, copy=True) for name, tensor in trainer.tensors().items()}


def found(trainer, search, prefixes=None):
    sentences = search_all(trainer.model, [src for src, _ in EXAMPLES], search, prefixes)
    return [[astuple(hypothesis) for hypothesis in best] for best in sentences]


pairs = [(trainer(name, OWN), trainer(name, CPU)) for name in MODELS]
for here, there in pairs:
    same(steps(here, 3), steps(there, 3))
    assert {t.device.type for n, t in here.tensors().items() if "random" not in n} == {"own"}
    same({n: t for n, t in kept(here).items() if n != "random.own"}, kept(there))
for precision in PRECISIONS:
    here, there = (fast(device, precision) for device in (OWN, CPU))
    count, within = (3, 1e-6) if precision == "float32" else (1, 0.03)
    expected = steps(there, count)
    same(steps(here, count), expected, rtol=within)
    assert (expected == steps(fast(CPU, "float32"), count)) == (precision == "float32")
print("losses")

SEARCHES = {
    "greedy": (Search(extra_length=3), Search(sample=True, extra_length=3)),
    "beam": (Search(3, best=2, extra_length=3),),
}
for word, searches in SEARCHES.items():
    for here, there in pairs:
        for search in searches:
            same(found(here, search), found(there, search))
        same(found(here, search, PREFIXES), found(there, search, PREFIXES))
    print(word)

for here, there in pairs:
    same(perplexity(here.model, EXAMPLES), perplexity(there.model, EXAMPLES))
    same(*(alignment_errors(trained.model, EXAMPLES, GOLD) for trained in (here, there)))
print("perplexity")

for name in MODELS:
    first, fresh = (trainer(name, OWN, seed, dropout=0.3) for seed in (1, 2))
    steps(first, 2)
    then, losses = kept(first), steps(first, 2)
    fresh.load(then, 2)
    assert steps(fresh, 2) == losses
print("resumed", flush=True)
# The device's thread of autograd may still let go of Python objects; in an interpreter that is
# being torn down it would be ended within C++, which aborts the process.
os._exit(0)

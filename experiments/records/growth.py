"""The records of growth: what a training step and a translation cost, one size varied at a time.

Everything else stays at ``BASE``. CPU time is measured; counted are the operations in
matrix products, the calls of PyTorch's operators, and the numbers that are stored: for the
backward pass in training, and in the KV cache in translating.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from annotated_transformer.batches import Batch
from annotated_transformer.decoding import Search, decode
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.tokens import BOS, EOS
from annotated_transformer.training import Trainer
from annotated_transformer.transformer import Transformer, TransformerConfig
from records.costs import operations
from records.tables import Row, Tables, read
from transformer_workbook.notebook.intervals import Interval, mean_interval

ROUNDS = 11
NEAR = 0.1
"""The tolerance with which an exponent of time is between the two that are counted."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model and of its work; source and translation have the same length."""

    length: int = 16
    batch: int = 8
    layers: int = 2
    width: int = 128  # the feed-forward network is four times as wide
    vocabulary: int = 1000
    beam: int = 1
    parts: int = 1  # micro-batches of a training step: more calls, the same operations
    one_layer: bool = False  # all layers of a stack are one: the same operations, fewer weights


BASE = Sizes()
SETTINGS = {
    "parts": ("parts", replace(BASE, batch=64)),
    "layers, all the same": ("layers", replace(BASE, one_layer=True)),
}
"""What is varied, if its name is not a size's, or the others are not those of ``BASE``."""

VARIED = {
    "length": (16, 32, 64, 128, 256),
    "batch": (4, 8, 16, 32, 64),
    "layers": (1, 2, 4, 8, 16),
    "width": (32, 64, 128, 256, 512),
    "vocabulary": (1000, 2000, 4000, 8000, 16000),
    "beam": (2, 4, 8, 16, 32),
    "parts": (1, 2, 4, 8, 16),
    "layers, all the same": (1, 2, 4, 8, 16),
}
SHARED = ("length", "batch", "layers", "width", "vocabulary")
WORKS = {"training": (*SHARED, "parts"), "decoding": (*SHARED, "beam", "layers, all the same")}
CURVES = [(work, varied) for work, names in WORKS.items() for varied in names]
KEYS = ["work", "varied", "value", "round"]


class Calls(TorchDispatchMode):
    """Counts the calls of PyTorch's operators inside the block."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count a call, and run it."""
        self.number += 1
        return func(*args, **(kwargs or {}))


def build(sizes: Sizes) -> Transformer:
    """Make a Transformer with random weights that never ends a translation."""
    torch.manual_seed(0)
    config = TransformerConfig(
        sizes.vocabulary,
        sizes.vocabulary,
        d_model=sizes.width,
        num_layers=sizes.layers,
        num_heads=4,
        d_ff=4 * sizes.width,
        dropout=0.0,
        share_embeddings=True,
    )
    model = Transformer(config)
    if sizes.one_layer:
        for stack in (model.encoder, model.decoder):
            for i in range(sizes.layers):
                stack[i] = stack[0]
    with torch.no_grad():
        model.output.bias[EOS] = -1e9
    return model


def sentences(sizes: Sizes) -> Tensor:
    """Make random sources that end in ``EOS``, (batch, length)."""
    words = torch.randint(4, sizes.vocabulary, (sizes.batch, sizes.length))
    words[:, -1] = EOS
    return words


def training(model: Transformer, sizes: Sizes) -> Callable[[], Any]:
    """Make a function that takes a step of training."""
    src = sentences(sizes)
    tgt_in = src.roll(1, dims=1).index_fill(1, torch.tensor(0), BOS)
    parts = [
        Batch(*each)
        for each in zip(*(t.chunk(sizes.parts) for t in (src, tgt_in, src)), strict=True)
    ]
    loss = partial(smoothed_cross_entropy, smoothing=0.1)
    trainer = Trainer(model, loss, lambda _: 1e-4)
    return lambda: trainer.update(parts)


def decoding(model: Transformer, sizes: Sizes) -> Callable[[], Any]:
    """Make a function that searches for translations as long as their sources."""
    src = sentences(sizes)
    return lambda: decode(model, src, Search(beam=sizes.beam, alpha=0.0, extra_length=0))


MAKERS = {"training": training, "decoding": decoding}


def kept_for_backward(model: Transformer, run: Callable[[], Any]) -> int:
    """Count the numbers stored for the backward pass, without the model's own."""
    found: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes() // tensor.itemsize
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        run()
    own = {parameter.data_ptr() for parameter in model.parameters()}
    return sum(number for place, number in found.items() if place not in own)


def kept_for_next(sizes: Sizes) -> int:
    """Count the numbers in the KV cache at the end; those of a source are stored once."""
    positions = sizes.batch * sizes.length * (1 + sizes.beam)
    return 2 * sizes.layers * sizes.width * positions


def counted(work: str, sizes: Sizes) -> Row:
    """Count what does not depend on the machine's speed."""
    model = build(sizes)
    run = MAKERS[work](model, sizes)
    run()  # the first step makes the optimiser's state
    with Calls() as calls:
        run()
    with sdpa_kernel(SDPBackend.MATH):  # the products of the fused kernel are not counted
        number = operations(run)
    if work == "training":  # micro-batches are processed one by one
        part = replace(sizes, batch=sizes.batch // sizes.parts, parts=1)
        kept = kept_for_backward(model, training(model, part))
    else:
        kept = kept_for_next(sizes)
    return {"operations": number, "calls": calls.number, "kept": kept}


def measure(work: str, varied: str) -> list[Row]:
    """Measure the CPU milliseconds for all values of a size, in rounds."""
    torch.set_num_threads(1)
    size, base = SETTINGS.get(varied, (varied, BASE))
    settings = {value: replace(base, **{size: value}) for value in VARIED[varied]}
    counts = {value: counted(work, sizes) for value, sizes in settings.items()}
    runs = {value: MAKERS[work](build(sizes), sizes) for value, sizes in settings.items()}
    rows = []
    for turn in range(ROUNDS + 1):  # the first warms up
        for value, run in runs.items():
            start = time.process_time()
            run()
            milliseconds = round(1000 * (time.process_time() - start), 2)
            key = dict(zip(KEYS, (work, varied, value, turn), strict=True))
            rows.append(key | {"milliseconds": milliseconds} | counts[value])
    return [row for row in rows if row["round"]]


def exponent(rows: list[Row], column: str) -> float:
    """Fit the slope of the logarithm of a column over that of the value."""
    x, y = (torch.tensor([float(row[c]) for row in rows]).double() for c in ("value", column))
    x, y = x.log() - x.log().mean(), y.log() - y.log().mean()
    return float(x @ y / (x @ x))


def exponents(rows: list[Row]) -> list[float]:
    """Fit the exponents of time, one for every round."""
    rounds = sorted({int(row["round"]) for row in rows})
    return [
        exponent([r for r in rows if int(r["round"]) == turn], "milliseconds") for turn in rounds
    ]


def place(found: Interval, calls: float, products: float) -> str:
    """Say where an exponent of time is: for a sum of two costs, between their exponents."""
    low, high = sorted((calls, products))
    if found.low > high + NEAR:
        return "above"
    return "below" if found.high < low - NEAR else "between"


def fit(rows: list[Row], work: str, varied: str) -> Row:
    """Fit the exponents of one curve; small and large are the first and the last three values."""
    own = [row for row in rows if (row["work"], row["varied"]) == (work, varied)]
    values = VARIED[varied]
    small, large = (
        mean_interval(exponents([row for row in own if int(row["value"]) in part]))
        for part in (values[:3], values[-3:])
    )
    ends = [row for row in own if int(row["value"]) in values[-3:]]
    found = {column: round(exponent(ends, column), 2) for column in ("operations", "calls", "kept")}
    return {
        "work": work,
        "varied": varied,
        "small": round(small.value, 2),
        "large": round(large.value, 2),
        "low": round(large.low, 2),
        "high": round(large.high, 2),
        **found,
        "time_is": place(large, found["calls"], found["operations"]),
    }


def make_growth_times(tables: Tables) -> None:
    """The time of a training step and of a translation, with one size varied at a time."""
    tasks = [
        (work, varied, value, turn)
        for work, varied in CURVES
        for turn in range(1, ROUNDS + 1)
        for value in VARIED[varied]
    ]
    if tables.check or len(read(tables.path("growth_times"))) == len(tasks):
        tables.extend("growth_times", dict, tasks, KEYS)
        return
    tables.write("growth_times", [row for curve in CURVES for row in measure(*curve)])


def make_growth(tables: Tables) -> None:
    """The exponents with which time grows, beside those of operations, of calls, of memory.

    Written down before the run: time is a cost for each call and a cost for each operation, so over
    the three largest values its exponent is between theirs, within 0.1. What would refute it: an
    exponent whose whole interval is outside (the column `time_is` says where); and a batch of
    several micro-batches, which has more calls and the same operations, that takes no longer (the
    rows `parts`): there the interval would contain 0. In the first run of this record the layers of
    decoding were outside, above both. Sixteen layers have more weights than the cache next to a
    core can hold. If that is why, layers that share weights must grow more slowly: the last row was
    added, and refutes it if its interval overlaps that of the layers.
    """
    make_growth_times(tables)
    if tables.check or len(read(tables.path("growth"))) == len(CURVES):
        tables.extend("growth", dict, CURVES, KEYS[:2])
        return
    rows = read(tables.path("growth_times"))
    tables.write("growth", [fit(rows, *curve) for curve in CURVES])

"""The records of the modern block: one change of the block of 2017 at a time, and all of them."""

from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.batches import Batch
from annotated_transformer.evaluation import perplexity
from annotated_transformer.ground.errors import DivergedError
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.tokens import BOS
from annotated_transformer.training import Trainer, linear_schedule
from records.costs import times_in_turns
from records.tables import Row, Tables
from records.toy_training import RATES, task, train
from records.trials import SEEDS, tune, tuned_rate
from transformer_workbook.notebook import exactly_right

STEPS = 1000
SIZES = {"num_layers": 4, "d_ff": 320, "norm_position": "pre", "dropout": 0.0, "max_length": 128}
"""Those of `language_models`, here the block of 2017; norms before the sub-layers since 2020."""

CHANGES: dict[str, dict[str, Any]] = {
    "RMSNorm": {"norm": "rms"},
    "SwiGLU": {"activation": "swish", "gated": True},
    "no biases": {"bias": False},
    "two KV heads": {"num_kv_heads": 2},
    "QK-norm": {"qk_norm": True},
    "untied head": {"tie_output": False},
    "rotary": {"positions": "rotary"},
}
TODAY = {name: value for change in CHANGES.values() for name, value in change.items()}
MODELS: dict[str, dict[str, Any]] = {
    "2017": {},
    "2017, post-norm": {"norm_position": "post"},
    **CHANGES,
    "today": TODAY,
}


def build(changes: dict[str, Any], seed: int = 0) -> LanguageModel:
    """Build an untrained model, whose weights were drawn in float64."""
    given = SIZES | changes
    return task().build(LanguageModel, LanguageModelConfig.tiny, seed, **given).float()


def size(changes: dict[str, Any]) -> int:
    """Count the parameters of a model."""
    return sum(parameter.numel() for parameter in build(changes).parameters())


def as_large(changes: dict[str, Any], base: dict[str, Any] | None = None) -> dict[str, Any]:
    """Give a model the d_ff with which it has the parameters of the model of 2017, or nearly.

    The number of parameters grows by the same with each unit of d_ff.
    """
    base = base or {}
    one, two = (size(base | changes | {"d_ff": width}) for width in (1, 2))
    return base | changes | {"d_ff": 1 + round((size(base) - one) / (two - one))}


def train_block(name: str, rate: float, seed: int, base: dict[str, Any] | None = None) -> Row:
    """Train one model; how well it predicts and translates."""
    changes = as_large(MODELS[name], base)
    model = build(changes, seed)
    train(model, STEPS, rate, seed)
    right = exactly_right(model, task().examples("test"))
    return {
        "model": name,
        "rate": rate,
        "seed": seed,
        "steps": STEPS,
        "d_ff": changes["d_ff"],
        "parameters": size(changes),
        "val_perplexity": round(perplexity(model, task().examples("val")), 4),
        "exact": sum(right) / len(right),
    }


def make_block(tables: Tables) -> None:
    """Language models with the block of 2017, with one change each, and with all: as large.

    What would refute "a change that shows no difference here does nothing": to look elsewhere
    than at the best learning rate (`block_rates`). Run: there, QK-norm makes one.
    """
    tune(tables, "block", train_block, MODELS, RATES)


COMPARED = ("2017", "2017, post-norm", "today")
MORE_SEEDS = (6, 7, 8, 9, 10)


def make_block_more(tables: Tables) -> None:
    """Five more fresh seeds of both blocks of 2017 and of that of today.

    What would refute "the modern block is ahead of that of 2017": models of another width, each
    tuned again (`block_narrow`). Run: there no difference is seen, and the book says so.
    """
    rates = {name: tuned_rate(tables, "block", train_block, name, RATES) for name in COMPARED}
    runs = [(name, rates[name], seed) for name in COMPARED for seed in MORE_SEEDS]
    tables.extend("block_more", train_block, runs, ["model", "rate", "seed"])


NARROW = {"d_model": 32, "d_ff": 160}
NARROWED = {f"{name}, narrow": name for name in ("2017", "today")}


def train_narrow(name: str, rate: float, seed: int) -> Row:
    """Train a model of half the width."""
    return train_block(NARROWED[name], rate, seed, NARROW) | {"model": name}


def make_block_narrow(tables: Tables) -> None:
    """Language models of half the width, with the block of 2017 and with that of today.

    It is the other method for "the modern block is ahead": heads of 8 numbers, and a network
    that has hardly room for a gate. The trials of today's chose a rate at which seeds differ much.
    """
    tune(tables, "block_narrow", train_narrow, NARROWED, RATES)


# --- the range of learning rates ------------------------------------------------------------------

WIDE, WIDE_STEPS = [8e-3 * 2**i for i in range(4)], 400
RANGED = ("2017", "QK-norm", "today")


def train_at(name: str, rate: float, seed: int) -> Row:
    """Train one model at a rate that may be far too high; its perplexity is infinite if it is."""
    model = build(as_large(MODELS[name]), seed)
    try:
        train(model, WIDE_STEPS, rate, seed)
        found = round(perplexity(model, task().examples("val")), 4)
    except DivergedError:
        found = float("inf")
    return {"model": name, "rate": rate, "seed": seed, "val_perplexity": found}


def make_block_rates(tables: Tables) -> None:
    """Validation perplexity by the learning rate, after 400 steps.

    It is the other method for `block`, where each model has its own best rate and QK-norm makes no
    difference. Three more seeds could have refuted what the first two showed, and did not.
    """
    runs = [(name, rate, seed) for seed in SEEDS for name in RANGED for rate in WIDE]
    tables.extend("block_rates", train_at, runs, ["model", "rate", "seed"])


# --- time and memory ------------------------------------------------------------------------------

TEXTS, READ, REPEATS = 16, 100, 30


def time_block(name: str) -> Row:
    """Time a training step and a decode step, in turns with those of the model of 2017."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    models = [build(as_large(MODELS[which])) for which in (name, "2017")]
    batch = Batch.of(task().examples("train")[:TEXTS])
    trainers = [
        Trainer(model, smoothed_cross_entropy, linear_schedule(1e-3, 9999)) for model in models
    ]
    steps = [lambda trainer=trainer: trainer.update([batch]) for trainer in trainers]
    train_times = times_in_turns(*steps, repeats=REPEATS, skip=5)
    text, token = torch.randint(4, 100, (TEXTS, READ)), torch.full((TEXTS, 1), BOS)
    with torch.inference_mode():
        states = [model.eval().start(text) for model in models]
        writes = [
            lambda model=model, state=state: model.extend(state, token)
            for model, state in zip(models, states, strict=True)
        ]
        write_times = times_in_turns(*writes, repeats=REPEATS, skip=5)
    cached = [tensor for kept in states[0].past for tensor in (kept.keys, kept.values)]
    return {
        "model": name,
        "train_milliseconds": round(1000 * train_times[0], 2),
        "train_ratio": round(train_times[0] / train_times[1], 3),
        "decode_milliseconds": round(1000 * write_times[0], 2),
        "decode_ratio": round(write_times[0] / write_times[1], 3),
        "cache_bytes": sum(tensor.nbytes for tensor in cached) // (TEXTS * READ),
    }


def make_block_times(tables: Tables) -> None:
    """Time of a training step and of a decode step, and bytes of KV cache for each position."""
    # One at a time: nothing else may run beside what is timed.
    tables.extend("block_times", time_block, [(name,) for name in MODELS], ["model"], workers=1)


class PlainRMSNorm(nn.Module):
    """RMSNorm as its formula says."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Divide by the root of the mean square."""
        return self.weight * x / (x.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt()


NORMS = {"nn.LayerNorm": nn.LayerNorm, "nn.RMSNorm": nn.RMSNorm, "the formula": PlainRMSNorm}


def time_norms(width: int) -> Row:
    """Time each norm of 1,024 vectors in turns, with its gradient and without, in microseconds."""
    torch.set_num_threads(1)
    x = torch.randn(1024, width, requires_grad=True)
    norms = [kind(width) for kind in NORMS.values()]
    both = [lambda norm=norm: norm(x).sum().backward() for norm in norms]
    with_gradient = times_in_turns(*both, repeats=REPEATS, skip=5)
    with torch.inference_mode():
        alone = times_in_turns(
            *[lambda norm=norm: norm(x) for norm in norms], repeats=REPEATS, skip=5
        )
    row: Row = {"width": width}
    for name, one, two in zip(NORMS, alone, with_gradient, strict=True):
        row |= {f"{name}, forward": round(1e6 * one), f"{name}, both": round(1e6 * two)}
    return row


def make_norm_times(tables: Tables) -> None:
    """Microseconds for 1,024 vectors: LayerNorm and RMSNorm of PyTorch, and RMSNorm's formula."""
    tables.extend("norm_times", time_norms, [(64,), (1024,)], ["width"], workers=1)

"""Checks of schedules, of weight averaging, of the order of batches, and of the trainer."""

import math
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.batches import Batch, TextBatch
from annotated_transformer.ground.devices import CPU
from annotated_transformer.loss import smoothed_cross_entropy
from transformer_workbook.own.checks.check import Check, drawn, filled, refusal

STEPS = (1, 2, 4, 5, 9, 16, 64)


def _rates(make: Callable[[Any], Callable[[int], float]]) -> Callable[[Any], list[float]]:
    return lambda m: [make(m)(step) for step in STEPS]


@torch.no_grad()
def _averaged(m: Any, decay: float) -> list[Tensor]:
    model = filled(nn.Linear(2, 1))
    average = m.WeightAverage(model, decay)
    for step in range(1, 5):
        model.weight += step
        average.update(model, step)
    return [average.weights["weight"], average.weights["bias"], model.weight]


def _averaged_by_hand(decay: float) -> list[Tensor]:
    weight = drawn("weight", 1, 2)
    mean = weight
    for step in range(1, 5):
        weight = weight + step
        share = min(decay, (1 + step) / (10 + step))
        mean = share * mean + (1 - share) * weight
    return [mean, drawn("bias", 1), weight]


EXAMPLES = [([7] * n, [5] * n) for n in range(1, 7)]


def _sources(m: Any, count: int, skip: int = 0, every: int = 1, seed: int = 0) -> list[list[int]]:
    batches = islice(m.endless_batches(EXAMPLES, 7, seed, skip, every=every), count)
    return [sorted((batch.src == 7).sum(dim=1).tolist()) for batch in batches]


class Bigrams(nn.Module):
    """A model that sees only the previous word."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(drawn("table", 11, 11))
        self.dropout = nn.Dropout(0.5)
        self.trains: list[bool] = []

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Compute the logits of every next word."""
        self.trains.append(self.training)
        return self.table[tgt_in]


def whole() -> list[Batch]:
    """Make three sentence pairs in one new batch, since a trainer may change it."""
    return [Batch.of([([5, 6], [7, 8, 9]), ([6], [4]), ([9, 9, 8], [5])])]


def halves() -> list[Batch]:
    """Split them into two unequal micro-batches."""
    return [Batch.of([([5, 6], [7, 8, 9]), ([6], [4])]), Batch.of([([9, 9, 8], [5])])]


STEEP = 9.0
"""With this factor on the loss, a clip of 1 would have an effect."""


def _loss(logits: Tensor, target: Tensor) -> Tensor:
    return STEEP * smoothed_cross_entropy(logits, target)


def _trained(
    m: Any, updates: list[list[Batch]], model: Bigrams | None = None, **options: Any
) -> list[Any]:
    model = model or Bigrams()
    trainer = m.Trainer(model, _loss, lambda step: 0.1 * step, **options)
    told = [trainer.update(parts) for parts in updates]
    return [model.table.detach(), [list(map(float, pair)) for pair in told], trainer.steps]


def _slowed(m: Any) -> list[Any]:
    model = Bigrams()
    group = {"params": [model.table], "lr": 0.0, "schedule": lambda step: 0.02 * step}
    adam = torch.optim.Adam([group], betas=(0.9, 0.98), eps=1e-9)
    return _trained(m, [whole(), whole()], model, clip=None, optimizer=adam)


class Shrinking(Bigrams):
    """The same model with an auxiliary loss per token that shrinks its weights."""

    def auxiliary_loss(self) -> Tensor:
        """Return the sum of the squares of all numbers."""
        return self.table.square().sum()


def _trained_by_hand(
    updates: int, clip: float | None, slope: float = 0.1, shrink: bool = False
) -> list[Any]:
    """Train the same by torch.optim, on the whole batch."""
    table, batch, told = nn.Parameter(drawn("table", 11, 11)), whole()[0], []
    optimizer = torch.optim.Adam([table], betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, updates + 1):
        loss = STEEP * F.cross_entropy(
            table[batch.tgt_in].flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0
        )
        optimizer.zero_grad()
        (loss + shrink * table.square().sum()).backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_([table], clip or float("inf"))
        told.append([loss.item(), norm.item()])
        optimizer.param_groups[0]["lr"] = slope * step
        optimizer.step()
    return [table.detach(), told, updates]


def _options(m: Any) -> dict[str, Any]:
    group = m.paper_adam(nn.Linear(1, 1)).param_groups[0]
    return {
        "betas": group["betas"],
        "eps": f"{group['eps']:g}",
        "weight_decay": group["weight_decay"],
    }


def _mode(m: Any) -> list[bool]:
    model = Bigrams().eval()
    m.Trainer(model, smoothed_cross_entropy, lambda step: 0.1).update(halves())
    return model.trains


def _average(m: Any, decay: float) -> Tensor:
    """Measure how far an average is from that of the weights after each step."""
    model, right = Bigrams(), Bigrams().table.detach()
    trainer = m.Trainer(model, smoothed_cross_entropy, lambda step: 0.1, average_decay=decay)
    for step in (1, 2):
        trainer.update(whole())
        share = min(decay, (1 + step) / (10 + step))
        right = share * right + (1 - share) * model.table.detach()
    return (trainer.average.weights["table"] - right).abs().max()


def _broken(m: Any) -> str:
    model = Bigrams()
    with torch.no_grad():
        model.table[1, 1] = float("nan")
    trainer = m.Trainer(model, smoothed_cross_entropy, lambda step: 0.1)
    return refusal(lambda: trainer.update(whole()))


def _nothing(m: Any) -> str:
    trainer = m.Trainer(Bigrams(), smoothed_cross_entropy, lambda step: 0.1)
    return refusal(lambda: trainer.update([]))


def _logits(m: Any) -> Tensor:
    trainer = m.Trainer(Bigrams(), smoothed_cross_entropy, lambda step: 0.1)
    return trainer.logits(whole()[0]).detach()


def _asked(m: Any) -> list[int]:
    """Record how many sentences each micro-batch had for which the logits were computed."""
    asked = []

    class Asked(m.Trainer):  # type: ignore[misc]
        def logits(self, part: Batch) -> Any:
            asked.append(len(part.src))
            return super().logits(part)

    Asked(Bigrams(), smoothed_cross_entropy, lambda step: 0.1).update(halves())
    return asked


TEXTS = TextBatch.of([([5, 6, 7],), ([8, 9],)])
LOSSES = [(2.0, 3.0), (math.nan, 3.0), (2.0, math.inf)]

CHECKS = (
    Check(
        "inverse_sqrt_schedule",
        "the rates at steps {steps} of inverse_sqrt_schedule(peak=0.5, warmup=4)",
        _rates(lambda m: m.inverse_sqrt_schedule(0.5, 4)),
        lambda: [step / 8 if step < 4 else 1 / step**0.5 for step in STEPS],
        {"steps": STEPS},
    ),
    Check(
        "paper_schedule",
        "the rates at steps {steps} of paper_schedule(d_model=16, warmup=4, factor=1000)",
        _rates(lambda m: m.paper_schedule(16, 4, 1000.0)),
        lambda: [250 * min(step**-0.5, step * 4**-1.5) for step in STEPS],
        {"steps": STEPS},
    ),
    Check(
        "linear_schedule",
        "the rates at steps {steps} of linear_schedule(peak=0.5, total=16, warmup=4)",
        _rates(lambda m: m.linear_schedule(0.5, 16, 4)),
        lambda: [0.125, 0.25, 0.5, 11 / 24, 7 / 24, 0.0, 0.0],
        {"steps": STEPS},
    ),
    Check(
        "linear_schedule",
        "the error of linear_schedule(peak=1.0, total=4, warmup=4)",
        lambda m: refusal(lambda: m.linear_schedule(1.0, 4, 4)),
        lambda: "InputError",
    ),
    Check(
        "inverse_sqrt_schedule",
        "the error of inverse_sqrt_schedule(peak=1.0, warmup=0)",
        lambda m: refusal(lambda: m.inverse_sqrt_schedule(1.0, 0)),
        lambda: "InputError",
    ),
    Check(
        "paper_schedule",
        "the errors of paper_schedule with d_model=0, and with warmup=0",
        lambda m: [refusal(lambda a=a: m.paper_schedule(*a)) for a in ((0, 4), (16, 0))],  # type: ignore[misc]
        lambda: ["InputError"] * 2,
    ),
    *(
        Check(
            "WeightAverage",
            "the average with decay={decay} after four steps, and the model's weights",
            lambda m, d=decay: _averaged(m, d),  # type: ignore[misc]
            lambda d=decay: _averaged_by_hand(d),  # type: ignore[misc]
            {"decay": decay},
        )
        for decay in (0.0, 0.2, 0.9)
    ),
    Check(
        "WeightAverage",
        "the errors for a decay of 1 and of -0.1",
        lambda m: [refusal(lambda d=d: m.WeightAverage(nn.Linear(1, 1), d)) for d in (1.0, -0.1)],  # type: ignore[misc]
        lambda: ["InputError"] * 2,
    ),
    Check(
        "endless_batches",
        "the lengths of the sources of two epochs, of each sorted",
        lambda m: [sorted(_sources(m, 10)[i : i + 5]) for i in (0, 5)],
        lambda: [[[1, 2], [3], [4], [5], [6]]] * 2,
    ),
    Check(
        "endless_batches",
        "whether skip=7 goes on as after seven batches; whether epochs differ in order, and seeds",
        lambda m: [
            _sources(m, 9)[7:] == _sources(m, 2, skip=7),
            len({repr(_sources(m, 30)[i : i + 5]) for i in range(0, 30, 5)}) > 1,
            len({repr(_sources(m, 5, seed=seed)) for seed in range(6)}) > 1,
        ],
        lambda: [True, True, True],
    ),
    Check(
        "endless_batches",
        "whether skip=1 and every=2 give every second batch",
        lambda m: _sources(m, 3, skip=1, every=2) == _sources(m, 6)[1::2],
        lambda: True,
    ),
    Check(
        "endless_batches",
        "the error without examples",
        lambda m: refusal(lambda: next(iter(m.endless_batches([], 7, 0)))),
        lambda: "InputError",
    ),
    Check(
        "paper_adam",
        "betas, eps and weight_decay of paper_adam",
        _options,
        lambda: {"betas": (0.9, 0.98), "eps": "1e-09", "weight_decay": 0},
    ),
    Check(
        "Trainer.logits",
        "what Trainer.logits says of a batch",
        _logits,
        lambda: drawn("table", 11, 11)[whole()[0].tgt_in],
    ),
    Check(
        "Trainer.update",
        "weights, losses and norms of two updates with a whole batch, compared with torch.optim",
        lambda m: _trained(m, [whole(), whole()], clip=None),
        lambda: _trained_by_hand(2, None),
    ),
    Check(
        "Trainer.update",
        "weights, losses and norms of two updates with the same batch in two unequal parts",
        lambda m: _trained(m, [halves(), halves()], clip=None),
        lambda: _trained_by_hand(2, None),
    ),
    Check(
        "Trainer.update",
        "weights, losses and norms of two updates with clip=0.01",
        lambda m: _trained(m, [halves(), whole()], clip=0.01),
        lambda: _trained_by_hand(2, 0.01),
    ),
    Check(
        "Trainer.update",
        "the same without a clip, where a group of parameters has a schedule of its own",
        _slowed,
        lambda: _trained_by_hand(2, None, slope=0.02),
    ),
    Check(
        "Trainer.update",
        "the same with a model whose auxiliary_loss is the sum of its squares",
        lambda m: _trained(m, [halves(), halves()], Shrinking(), clip=None),
        lambda: _trained_by_hand(2, None, shrink=True),
    ),
    Check(
        "Trainer.update",
        "whether the model trains while its parts are read",
        _mode,
        lambda: [True, True],
    ),
    Check(
        "Trainer.update",
        "of how many sentences update asks logits, in two parts: other trainers change it",
        _asked,
        lambda: [2, 1],
    ),
    *(
        Check(
            "Trainer.update",
            "how far the average with decay={decay} is from that of the weights after two steps",
            lambda m, d=decay: _average(m, d),  # type: ignore[misc]
            lambda: torch.tensor(0.0, device=CPU),
            {"decay": decay},
        )
        for decay in (0.0, 0.9)
    ),
    Check(
        "require_unmarked",
        "the errors for two texts with BOS and EOS, of which one is padded, and without them",
        lambda m: [refusal(partial(m.require_unmarked, b)) for b in (TEXTS, TEXTS.without_ends())],
        lambda: ["InputError", "no error"],
    ),
    Check(
        "require_converging",
        "the errors for pairs of loss and norm: (2, 3), (nan, 3), (2, inf)",
        lambda m: [refusal(partial(m.require_converging, *pair, 7)) for pair in LOSSES],
        lambda: ["no error", "DivergedError", "DivergedError"],
    ),
    Check("Trainer.update", "the error when the loss is nan", _broken, lambda: "DivergedError"),
    Check(
        "Trainer.update", "the error when there is no target token", _nothing, lambda: "InputError"
    ),
)

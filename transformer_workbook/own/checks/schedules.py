"""Checks of schedules, and of weight averaging."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from transformer_workbook.own.checks.check import Check, drawn, filled, refusal

STEPS = (1, 2, 4, 5, 9, 16, 64)


def _rates(make: Callable[[Any], Callable[[int], float]]) -> Callable[[Any], list[float]]:
    return lambda m: [make(m)(step) for step in STEPS]


SCHEDULE = (
    Check(
        "inverse_sqrt_schedule",
        f"the rates at steps {STEPS} of inverse_sqrt_schedule(peak=0.5, warmup=4)",
        _rates(lambda m: m.inverse_sqrt_schedule(0.5, 4)),
        lambda: [step / 8 if step < 4 else 1 / step**0.5 for step in STEPS],
    ),
    Check(
        "paper_schedule",
        f"the rates at steps {STEPS} of paper_schedule(d_model=16, warmup=4, factor=1000)",
        _rates(lambda m: m.paper_schedule(16, 4, 1000.0)),
        lambda: [250 * min(step**-0.5, step * 4**-1.5) for step in STEPS],
    ),
    Check(
        "linear_schedule",
        f"the rates at steps {STEPS} of linear_schedule(peak=0.5, total=16, warmup=4)",
        _rates(lambda m: m.linear_schedule(0.5, 16, 4)),
        lambda: [0.125, 0.25, 0.5, 11 / 24, 7 / 24, 0.0, 0.0],
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
)


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


AVERAGING = (
    *(
        Check(
            "WeightAverage",
            f"the average with decay={decay} after four steps, and the model's weights",
            lambda m, d=decay: _averaged(m, d),  # type: ignore[misc]
            lambda d=decay: _averaged_by_hand(d),  # type: ignore[misc]
        )
        for decay in (0.0, 0.2, 0.9)
    ),
    Check(
        "WeightAverage",
        "the errors for a decay of 1 and of -0.1",
        lambda m: [refusal(lambda d=d: m.WeightAverage(nn.Linear(1, 1), d)) for d in (1.0, -0.1)],  # type: ignore[misc]
        lambda: ["InputError"] * 2,
    ),
)

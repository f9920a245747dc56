"""Training: the rate of a step, what it can be, and how long the steps are."""

import functools
from collections.abc import Callable
from itertools import compress, product
from typing import Any

import torch
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.tokens import PAD
from annotated_transformer.toy import toy_corpus
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.judge.comparing import form, is_number, show
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.judge.trials import settings_put_back
from transformer_workbook.notebook.experiments import ToyTask
from transformer_workbook.old_exercises.old_question import Question


def _paper_rate(step: int, d_model: int, warmup: int) -> float:
    """The learning rate of a step in the paper, steps counted from 1."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def _rate(
    d: float = -0.5,
    decay: float = -0.5,
    rise: float = -1.5,
    late: int = 0,
    choose: Callable[..., float] = min,
) -> Callable[[int, int, int], float]:
    """The same formula with other exponents, or with the larger of the two pieces."""

    def rate(step: int, d_model: int, warmup: int) -> float:
        t = step + late
        return float(d_model**d * choose(t**decay, t * warmup**rise))

    return rate


def _without_brackets(d: bool, falls: bool, rises: bool) -> Callable[[int, int, int], float]:
    """The same formula as Python reads it where some exponents have no brackets."""

    def rate(step: int, d_model: int, warmup: int) -> float:
        return float(
            (d_model**-1 / 2 if d else d_model**-0.5)
            * min(
                step**-1 / 2 if falls else step**-0.5,
                step * (warmup**-3 / 2 if rises else warmup**-1.5),
            )
        )

    return rate


POWERS = ("`d_model ** -1/2`", "`step ** -1/2`", "`warmup ** -3/2`")
UNBRACKETED = {
    "Python takes the power first, then halves it: put brackets round the exponent of "
    + " and ".join(compress(POWERS, which))
    + ".": _without_brackets(*which)
    for which in product((True, False), repeat=3)
    if any(which)
}


paper_rate = Exercise(
    reference=_paper_rate,
    given=UNBRACKETED
    | {
        "this is the larger of the two pieces; the rate stays below both.": _rate(choose=max),
        "the factor d_model^(−1/2) is missing.": _rate(d=0.0),
        "this is multiplied by √d_model; wider models get a smaller rate.": _rate(d=0.5),
        "the warm-up is missing: this only decays.": _rate(choose=lambda falls, _: falls),
        "this only rises; after the warm-up the rate falls like step^(−1/2).": _rate(
            choose=lambda _, rises: rises
        ),
        "the pieces do not meet at the end of the warm-up, whose exponent is −3/2, not −1/2.": (
            _rate(rise=-0.5)
        ),
        "the rise is like step/warmup and misses the peak: the exponent of warmup is −3/2.": (
            _rate(rise=-1.0)
        ),
        "after the warm-up this stays constant; there is a decay, too.": (
            lambda t, d, w: d**-0.5 * min(w**-0.5, t * w**-1.5)
        ),
        "this is the rate of the step after it; steps are counted from 1.": _rate(late=1),
        "the decay is 1/step; the paper's is 1/√step.": _rate(decay=-1.0),
        "after the warm-up this falls like 1/step; the paper's falls like 1/√step.": (
            lambda t, d, w: d**-0.5 * min(t * w**-1.5, w**0.5 / t)
        ),
        "this is the rate of the step before it; steps are counted from 1.": _rate(late=-1),
        "this divides by d_model; its root is asked for.": _rate(d=-1.0),
        "the first piece grows like √step; after the warm-up the rate falls.": _rate(decay=0.5),
        "the exponent of warmup is −2 here; it is −3/2.": _rate(rise=-2.0),
        "the second piece is step^(−3/2) times warmup; the exponents are swapped.": (
            lambda t, d, w: d**-0.5 * min(t**-0.5, t**-1.5 * w)
        ),
        "the exponent −3/2 holds for warmup alone, not for the step.": (
            lambda t, d, w: d**-0.5 * min(t**-0.5, (t * w) ** -1.5)
        ),
        "the two pieces are added; the smaller of them is asked for.": (
            _rate(choose=lambda falls, rises: falls + rises)
        ),
        "the two pieces are multiplied; the smaller of them is asked for.": (
            _rate(choose=lambda falls, rises: falls * rises)
        ),
        "the first piece lacks the factor d_model^(−1/2).": (
            lambda t, d, w: min(t**-0.5, d**-0.5 * t * w**-1.5)
        ),
        "this is multiplied by d_model; wider models get a smaller rate.": _rate(d=1.0),
    },
    cases=[
        (1, 512, 4000),
        (4000, 256, 400),
        (30, 64, 100),
        (7, 16, 5),
        (100, 32, 100),
        (90, 36, 4),
    ],
)


RATES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]


@functools.cache
def _loss_at(rate: float) -> float:
    """The loss of a small model on eight sentences after 60 steps at that rate."""
    with settings_put_back():
        task = ToyTask.of(toy_corpus(400))
        batch = Batch.of(task.examples("train")[:8])
        sizes: Any = {"d_model": 32, "num_layers": 1, "num_heads": 2, "d_ff": 64, "dropout": 0.0}
        others: Any = {"norm_position": "pre", "max_length": 128}
        model = task.build(Transformer, TransformerConfig.tiny, **sizes, **others)
        adam = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-6)
        for _ in range(60):
            logits = model(batch.src, batch.tgt_in)
            loss = F.cross_entropy(logits.mT, batch.tgt_out, ignore_index=PAD)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
        return loss.item()


@Question
def highest_rate(answer: Any) -> str:
    """Which of the rates is the highest at which the model still learns by heart?"""
    if not is_number(answer):
        return f"a number is asked for, not {form(answer)}."
    rate = min(RATES, key=lambda rate: abs(rate - float(answer)))
    if abs(rate - float(answer)) > 1e-6:
        return f"{show(float(answer))} is none of the rates; they are {show(RATES)[1:-1]}."
    if _loss_at(rate) >= 0.1:
        return f"at {show(rate)} the loss is still about {_loss_at(rate):.1f} after 60 steps."
    higher = RATES[RATES.index(rate) + 1]
    learns = _loss_at(higher) < 0.1
    return f"{show(rate)} works, and so does {show(higher)}; is that the highest?" if learns else ""


@functools.cache
def _later_steps(beta1: float) -> float:
    """How long Adam's later steps are on pure noise, if the first has length 1."""
    noise = torch.randn(60, 20_000, generator=torch.Generator().manual_seed(0)).double()
    mean, square = torch.zeros(2, noise.size(1)).double()
    for gradient in noise:
        mean = beta1 * mean + (1 - beta1) * gradient
        square = 0.98 * square + 0.02 * gradient**2
    step = mean / (1 - beta1 ** len(noise)) / (square / (1 - 0.98 ** len(noise))).sqrt()
    return step.abs().mean().item()


@Question
def refuting_beta(answer: Any) -> str:
    """For which β₁ are Adam's later steps on noise at least half as long as its first?"""
    if not is_number(answer):
        return f"a number is asked for, not {form(answer)}."
    if not 0 <= answer < 1:
        return "β₁ is at least 0 and less than 1."
    later = _later_steps(float(answer))
    told = f"with β₁ = {show(float(answer))} the later steps have {later:.0%} of the first's length"
    return "" if later >= 0.5 else f"{told}; at least 50% are asked for."

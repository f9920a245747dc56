"""Checks of the trainer."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.ground.devices import CPU
from annotated_transformer.loss import smoothed_cross_entropy
from transformer_workbook.own.checks.check import Check, drawn, refusal


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


TRAINING = (
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
            f"how far the average with decay={decay} is from that of the weights after two steps",
            lambda m, d=decay: _average(m, d),  # type: ignore[misc]
            lambda: torch.tensor(0.0, device=CPU),
        )
        for decay in (0.0, 0.9)
    ),
    Check("Trainer.update", "the error when the loss is nan", _broken, lambda: "DivergedError"),
    Check(
        "Trainer.update", "the error when there is no target token", _nothing, lambda: "InputError"
    ),
)

"""Training: learning-rate schedules, the update step, weight averaging."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.batches import AnyBatch, batch_of, batches_by_tokens
from annotated_transformer.ground.devices import (
    PRECISIONS,
    computing_in,
    device_of,
    random_states,
    set_random_states,
)
from annotated_transformer.ground.errors import DivergedError, InputError, require_choice
from annotated_transformer.ground.inputs import (
    require_number,
    require_rate,
    require_sizes,
    require_whole,
)
from annotated_transformer.loss import Loss
from annotated_transformer.text.examples import Example, Examples
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.weights import buffers_of, tensors_of
from annotated_transformer.weights import load_tensors as load_tensors

Schedule = Callable[[int], float]
"""Maps the step, counted from 1, to the learning rate."""


def inverse_sqrt_schedule(peak: float, warmup: int) -> Schedule:
    """Make the schedule rate = peak · min(step / warmup, √(warmup / step)).

    Linear growth to ``peak`` over ``warmup`` steps, then decay with the square root of the step.

    >>> rate = inverse_sqrt_schedule(peak=1.0, warmup=4)
    >>> [rate(step) for step in (1, 2, 4, 16, 64)]
    [0.25, 0.5, 1.0, 0.5, 0.25]

    Raises:
        InputError: if warmup is not positive, or the peak is negative or not finite.
    """
    require_rate(peak)
    require_sizes(warmup=warmup)

    def rate(step: int) -> float:
        require_whole("step", step, 1)
        return peak * min(step / warmup, (warmup / step) ** 0.5)

    return rate


def paper_schedule(d_model: int, warmup: int = 4000, factor: float = 1.0) -> Schedule:
    """Make the schedule rate = factor · d_model^(−1/2) · min(step^(−1/2), step · warmup^(−3/2)).

    It is :func:`inverse_sqrt_schedule` with a peak of factor / √(d_model · warmup).

    Source: Vaswani et al. 2017, section 5.3, equation 3 (there with factor 1).

    >>> rate = paper_schedule(d_model=512, warmup=4000)
    >>> f"{rate(1):.2e} {rate(4000):.2e} {rate(16000):.2e}"
    '1.75e-07 6.99e-04 3.49e-04'

    Raises:
        InputError: if d_model or warmup is not positive, or the factor negative or not finite.
    """
    require_sizes(d_model=d_model, warmup=warmup)
    require_number("factor", factor)
    return inverse_sqrt_schedule(factor / (d_model * warmup) ** 0.5, warmup)


def linear_schedule(peak: float, total: int, warmup: int = 0) -> Schedule:
    """Grow linearly to ``peak`` over ``warmup`` steps, then decay linearly to 0 after ``total``.

    >>> rate = linear_schedule(peak=1.0, total=10, warmup=2)
    >>> [rate(step) for step in (1, 2, 6, 10)]
    [0.5, 1.0, 0.5, 0.0]

    Raises:
        InputError: if ``warmup`` is not below ``total``, or the peak is negative or not finite.
    """
    require_rate(peak)
    require_sizes(total=total)
    require_whole("warmup", warmup, 0)
    if warmup >= total:
        raise InputError(f"warmup={warmup} must be below total={total}.")

    def rate(step: int) -> float:
        require_whole("step", step, 1)
        if step < warmup:
            return peak * step / warmup
        return peak * max(0.0, (total - step) / (total - warmup))

    return rate


class WeightAverage:
    """Weight averaging: average ← β · average + (1 − β) · weights, after every step.

    The average smooths the noise of single steps. Early on β is smaller, (1 + t) / (10 + t), so
    that the random initial weights soon lose their influence.

    Source: Polyak and Juditsky 1992; exponential: Kingma and Ba 2015, section 7.2; the smaller β
    early on: TensorFlow's ``ExponentialMovingAverage`` with ``num_updates``. The paper of the
    Transformer averages its last 5 (or 20) checkpoints instead (section 6.1).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Start the average at the current weights.

        Raises:
            InputError: if the decay is outside [0, 1).
        """
        require_number("decay", decay, below=1.0)
        self.decay = decay
        self.weights = {name: tensor.clone() for name, tensor in tensors_of(model).items()}
        self.buffers = list(buffers_of(model))

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Add the weights after ``step``, counted from 1, to the average."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, parameter in model.named_parameters():
            self.weights[name].lerp_(parameter, 1 - decay)
        for name in self.buffers:  # not averaged: the newest are kept
            self.weights[name].copy_(model.get_buffer(name))


def endless_batches(
    examples: Sequence[Example],
    max_tokens: int,
    seed: int,
    skip: int = 0,
    device: torch.device | None = None,
    every: int = 1,
) -> Iterator[AnyBatch]:
    """Iterate over batches, epoch after epoch, in an order that depends only on the seed.

    ``skip`` leaves out that many batches at the beginning, so that a resumed training continues
    where it stopped. Of the rest, every ``every``-th is made: the others belong to other processes.

    Raises:
        InputError: if there are no examples, or a number is out of its range.
    """
    if not examples:
        raise InputError("there are 0 examples to train on, at least 1 is needed.")
    for name, value, least in (("seed", seed, 0), ("skip", skip, 0), ("every", every, 1)):
        require_whole(name, value, least)
    examples, seed = Examples.of(examples), int(seed)  # a NumPy integer would overflow
    groups = (
        group
        for epoch in count()
        for group in batches_by_tokens(examples, max_tokens, seed=seed * 1_000_003 + epoch)
    )
    for group in islice(groups, skip, None, every):
        yield batch_of([examples[i] for i in group], device)


def require_unmarked(part: AnyBatch) -> None:
    """Refuse a batch with special tokens around its texts, for a model whose texts have none.

    Raises:
        InputError: if every text has them.
    """
    last = (part.tgt_out != PAD).sum(dim=1, keepdim=True).clamp(min=1) - 1
    ended = (part.tgt_out.gather(1, last) == EOS).all()
    if ended and (part.tgt_in[:, 0] == BOS).all():
        raise InputError(
            f"every text of the batch begins with {BOS} and ends with {EOS}, which are tokens like "
            "others to a loaded model: take batch.without_ends()."
        )


def paper_adam(model: nn.Module, eps: float = 1e-9) -> torch.optim.Optimizer:
    """Make Adam with the paper's β₁ and β₂, and its ε by default; the schedule sets the rate.

    Source: Vaswani et al. 2017, section 5.3; Kingma and Ba 2015.

    Raises:
        InputError: if ε is negative or not finite.
    """
    require_number("eps", eps)
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=eps, fused=True)


def require_converging(loss: float, norm: float, steps: int) -> None:
    """Refuse a loss, or a gradient's norm, that is no longer finite after that many steps.

    Raises:
        DivergedError: if one is not.
    """
    if not (loss < float("inf") and norm < float("inf")):
        raise DivergedError(
            f"after step {steps} the loss is {loss} and the gradient's norm {norm}: "
            "training diverged, lower the learning rate (peak_rate in a recipe)."
        )


class Trainer:
    """An optimiser with a schedule, gradient clipping, gradient accumulation, weight averaging.

    The optimiser is any of ``torch.optim`` that needs no closure, by default :func:`paper_adam`.
    A parameter group with its own ``schedule`` follows that one.
    With ``precision="bfloat16"`` the model multiplies matrices in 16 bits; its weights, the loss
    and the update stay in full precision.

    Source: Vaswani et al. 2017, section 5.3.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        schedule: Schedule,
        *,
        optimizer: torch.optim.Optimizer | None = None,
        clip: float | None = 1.0,
        average_decay: float = 0.0,
        precision: str = "float32",
    ) -> None:
        """Start at step 0, with the current weights.

        Raises:
            InputError: if there is no such precision, clip or average_decay is out of its range, or
                the model has nothing to train.
        """
        require_choice("precision", precision, PRECISIONS)
        if clip is not None and clip != float("inf"):
            require_number("clip", clip, above=0.0)
        if not any(parameter.requires_grad for parameter in model.parameters()):
            raise InputError(
                f"model has {len(list(model.parameters()))} parameters and none is trained: "
                "`model.requires_grad_()` lets them train."
            )
        self.model, self.loss, self.schedule, self.clip = model, loss, schedule, clip
        self.optimizer = optimizer or paper_adam(model)
        self.precision = precision
        self.average = WeightAverage(model, average_decay)
        self.steps = 0

    def update(self, parts: Sequence[AnyBatch]) -> tuple[float, float]:
        """Take one step on a batch, given whole or as micro-batches that are processed one by one.

        The gradients of the micro-batches are added up and divided by the number of tokens in *all*
        of them, so that the step is that of the whole batch, whatever their sizes. The logits come
        from :meth:`logits`, which other trainers override.

        Returns:
            The loss per token, in nats, and the norm of the gradient before clipping.

        Raises:
            InputError: if there are no target tokens.
            DivergedError: if the loss or the gradient is no longer finite.
        """
        loss, norm = self.gradients(parts).tolist()  # here the CPU waits for the device
        require_converging(loss, norm, self.steps)
        self.advance()
        return loss, norm

    def gradients(self, parts: Sequence[Any]) -> Float[Tensor, "2"]:
        """Compute the clipped gradients of a step; return what :meth:`update` returns.

        The batches are of the kind that :meth:`logits` reads.
        """
        parts = list(parts)
        num_tokens = sum(part.num_tokens for part in parts)
        if num_tokens == 0:
            raise InputError(
                f"the {len(parts)} micro-batches have 0 target tokens, at least 1 is needed."
            )
        self.model.train()
        # Of all parameters: those that the optimiser does not have also count in the norm.
        self.model.zero_grad()
        losses = []
        for part in parts:
            if getattr(self.model, "begin", BOS) is None:
                require_unmarked(part)
            loss = self.loss(self.logits(part), part.tgt_out) / num_tokens
            (loss + self.auxiliary(part) / num_tokens).backward()
            losses.append(loss.detach())
        limit = float("inf") if self.clip is None else self.clip
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        return torch.stack([torch.stack(losses).sum(), norm])

    def advance(self) -> None:
        """Let the optimiser take the step along the gradients, and average the weights."""
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = group.get("schedule", self.schedule)(self.steps)
        self.optimizer.step()
        self.average.update(self.model, self.steps)

    def logits(self, part: AnyBatch) -> Tensor:
        """Compute the logits of every next token, (batch, tgt, vocab)."""
        with computing_in(self.precision, part.tgt_in.device):
            logits = self.model(*part.inputs)
        return logits.to(next(self.model.parameters()).dtype)

    def auxiliary(self, part: Any) -> Tensor | float:
        """Return the auxiliary loss of a micro-batch that the model has just read, in nats.

        It is 0, unless the model has a method ``auxiliary_loss``, which returns it per target token
        (for example the load balancing of a mixture of experts). It is trained on, but not included
        in the loss that :meth:`update` returns. The step is that of the whole batch only if
        the auxiliary losses of the micro-batches add up to that of the whole.
        """
        of_model = getattr(self.model, "auxiliary_loss", None)
        return 0.0 if of_model is None else of_model() * part.num_tokens

    def tensors(self) -> dict[str, Tensor]:
        """Return everything that the next step depends on, with the random number generators."""
        device = device_of(self.model)
        tensors = {f"average.{name}": t for name, t in self.average.weights.items()}
        tensors |= {f"model.{name}": t for name, t in tensors_of(self.model).items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                if value is not None:
                    tensors[f"optimizer.{name}.{key}"] = torch.as_tensor(value, device=device)
        return tensors | random_states(device)

    @torch.no_grad()
    def load(self, tensors: dict[str, Tensor], steps: int) -> None:
        """Restore the state that :meth:`tensors` returned after ``steps`` steps."""
        for name, tensor in tensors_of(self.model).items():
            tensor.copy_(tensors[f"model.{name}"])
            self.average.weights[name].copy_(tensors[f"average.{name}"])
        for name, parameter in self.model.named_parameters():
            prefix = f"optimizer.{name}."
            # Unchanged: the optimiser's own `load_state_dict` would round some of them.
            self.optimizer.state[parameter] = {
                key.removeprefix(prefix): tensor.to(parameter.device, copy=True)
                for key, tensor in tensors.items()
                if key.startswith(prefix)
            }
        self.steps = steps
        set_random_states(tensors, device_of(self.model))

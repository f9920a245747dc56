"""Training: from batches to better weights, one step at a time."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from annotated_transformer.averaging import WeightAverage
from annotated_transformer.batches import Batch, Example, batches_by_tokens
from annotated_transformer.errors import InputError
from annotated_transformer.loss import Loss
from annotated_transformer.schedule import Schedule


def endless_batches(
    examples: Sequence[Example], max_tokens: int, seed: int, skip: int = 0
) -> Iterator[Batch]:
    """Batches of all examples, epoch after epoch, in an order that depends on the seed alone.

    ``skip`` leaves out that many batches at the beginning: a resumed training goes on where it
    stopped, as if it had never been interrupted.

    Raises:
        InputError: if there are no examples.
    """
    if not examples:
        raise InputError("there are 0 examples to train on, at least 1 is needed.")
    epoch = 0
    while True:
        groups = batches_by_tokens(examples, max_tokens, seed=seed * 1_000_003 + epoch)
        for group in groups[skip:]:
            yield Batch.of(group)
        skip = max(0, skip - len(groups))
        epoch += 1


class Trainer:
    """Adam with a schedule, gradient clipping, gradient accumulation and weight averaging.

    Adam's β₁, β₂ and ε are the paper's (0.9, 0.98, 1e-9) unless given. With ``bfloat16`` the model
    multiplies matrices in 16 bits; its weights, the loss and the update keep all of theirs.

    Source: Vaswani et al. 2017, section 5.3; Kingma and Ba 2015.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        schedule: Schedule,
        *,
        clip: float = 1.0,
        average_decay: float = 0.0,
        bfloat16: bool = False,
        betas: tuple[float, float] = (0.9, 0.98),
        eps: float = 1e-9,
    ) -> None:
        self.model, self.loss, self.schedule, self.clip = model, loss, schedule, clip
        self.bfloat16 = bfloat16
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=0.0, betas=betas, eps=eps, fused=True
        )
        self.average = WeightAverage(model, average_decay)
        self.steps = 0

    def update(self, parts: Sequence[Batch]) -> tuple[float, float]:
        """Take one step on a batch, given whole or in parts that are worked on one by one.

        The gradients of the parts are added up and divided by the number of tokens in *all* of
        them. So the parts may be as unequal as they like: the step is that of the whole batch.

        Returns:
            The loss per token, in nats, and the norm of the gradient before clipping.

        Raises:
            InputError: if there is no part, or the loss is no longer a number.
        """
        num_tokens = sum(part.num_tokens for part in parts)
        if num_tokens == 0:
            raise InputError(f"the {len(parts)} parts have 0 target tokens, a step needs some.")
        self.model.train()
        self.optimizer.zero_grad()
        total = 0.0
        for part in parts:
            loss = self.loss(self.logits(part), part.tgt_out) / num_tokens
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip).item()
        if not (total < float("inf") and norm < float("inf")):
            raise InputError(
                f"after step {self.steps} the loss is {total} and the gradient's norm {norm}: "
                "training diverged, lower the learning rate (peak_rate in a recipe)."
            )
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule(self.steps)
        self.optimizer.step()
        self.average.update(self.model, self.steps)
        return total, norm

    def logits(self, part: Batch) -> Tensor:
        """What the model says of every next token, (batch, tgt, vocab)."""
        if not self.bfloat16:
            exact: Tensor = self.model(part.src, part.tgt_in)
            return exact
        # The fused kernel of attention is slow in bfloat16 on a CPU, above all backwards.
        with torch.autocast("cpu", torch.bfloat16), sdpa_kernel(SDPBackend.MATH):
            rounded: Tensor = self.model(part.src, part.tgt_in)
        return rounded.to(next(self.model.parameters()).dtype)

    def tensors(self) -> dict[str, Tensor]:
        """Everything that the next step depends on, the random number generator included."""
        names = [name for name, _ in self.model.named_parameters()]
        tensors = {f"model.{name}": p.detach() for name, p in self.model.named_parameters()}
        tensors |= {f"average.{name}": t for name, t in self.average.weights.items()}
        for i, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{names[i]}.{key}": moment for key, moment in moments.items()}
        return tensors | {"random": torch.get_rng_state()}

    @torch.no_grad()
    def load(self, tensors: dict[str, Tensor], steps: int) -> None:
        """Go back to the point where :meth:`tensors` was called, after ``steps`` steps."""
        names = [name for name, _ in self.model.named_parameters()]
        for name, parameter in self.model.named_parameters():
            parameter.copy_(tensors[f"model.{name}"])
            self.average.weights[name].copy_(tensors[f"average.{name}"])
        state = self.optimizer.state_dict()
        for i, name in enumerate(names) if steps else ():
            prefix = f"adam.{name}."
            state["state"][i] = {
                key.removeprefix(prefix): tensor.clone()
                for key, tensor in tensors.items()
                if key.startswith(prefix)
            }
        self.optimizer.load_state_dict(state)
        self.steps = steps
        torch.set_rng_state(tensors["random"])

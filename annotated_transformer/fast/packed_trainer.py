"""The trainer for an accelerator: packed batches, a compiled pass, and no waiting in a step."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.fast.late import Late
from annotated_transformer.fast.output_loss import token_loss
from annotated_transformer.fast.packed_hidden import packed_hidden
from annotated_transformer.fast.trainer import FastTrainer
from annotated_transformer.fast.twin import format_of
from annotated_transformer.ground.errors import InputError
from annotated_transformer.training import Schedule, require_converging
from annotated_transformer.transformer import Transformer


class PackedTrainer(FastTrainer):
    """A :class:`FastTrainer` that reads packed batches and never waits for the device in a step.

    The steps are those of the readable trainer on the same pairs. What a step has found is read
    during the next one, so that a divergence is noticed one step late. The device itself leaves out
    the update: when the error is raised, weights and optimiser are those before that step.
    """

    def __init__(
        self,
        model: Transformer,
        smoothing: float,
        schedule: Schedule,
        *,
        backend: str | None = "inductor",
        precision: str = "float32",
        **settings: Any,
    ) -> None:
        """Make the trainer; ``backend`` is one of ``torch.compile``, or ``None``: not compiled.

        Raises:
            InputError: as for a :class:`FastTrainer`; or if the optimiser is not fused.
        """
        super().__init__(model, smoothing, schedule, precision=precision, **settings)
        # Others could not leave out an update without waiting to learn that they have to.
        if not all(group.get("fused") for group in self.optimizer.param_groups):
            raise InputError(
                f"the optimiser is {type(self.optimizer).__name__}, it must have fused=True."
            )
        self.loss = partial(token_loss, model.output, smoothing=smoothing)
        run: Any = partial(packed_hidden, self.twin, format_of(model, precision))
        if backend is not None:
            run = torch.compile(run, backend=backend, fullgraph=True, dynamic=False)
        self.hidden = run
        self.late: Late | None = None

    def logits(self, part: Any) -> Tensor:
        """Compute the inputs of the output layer, (tokens, d_model), without padding.

        Raises:
            InputError: if an id is outside the vocabulary, or rows are longer than the model reads.
        """
        part.require_fit(self.twin.config)
        self.twin.train(self.model.training)
        hidden: Tensor = self.hidden(*part.inputs)
        return hidden.flatten(0, 1).index_select(0, part.real)

    def update(self, parts: Sequence[Any]) -> tuple[float, float]:
        """Take one step on packed batches, as :meth:`Trainer.update`.

        Returns:
            Loss and norm of the step *before*; of the first step, its own.

        Raises:
            InputError: if the batches do not fit the model.
            DivergedError: if the step before diverged. It was not taken.
        """
        found = self.gradients(parts)
        # Fused optimisers leave out a step where this is 1, on the device.
        self.optimizer.found_inf = 1 - found.isfinite().all().float()  # type: ignore[attr-defined]
        known, self.late = self.read(), Late(found)
        self.advance()
        return known or self.late.read()

    def read(self) -> tuple[float, float] | None:
        """Wait for what the last step found, if there was one, and check it.

        Raises:
            DivergedError: if it diverged.
        """
        if self.late is None:
            return None
        (loss, norm), self.late = self.late.read(), None
        self.steps -= 1  # unless it converges, it was not taken
        require_converging(loss, norm, self.steps)
        self.steps += 1
        return loss, norm

    def tensors(self) -> dict[str, Tensor]:
        """Return :meth:`Trainer.tensors`, after the last step was checked."""
        self.read()
        return super().tensors()

    def load(self, tensors: dict[str, Tensor], steps: int) -> None:
        """Do :meth:`Trainer.load`; the last step before it no longer counts."""
        super().load(tensors, steps)
        self.late = None

"""The fast trainer: the steps of the readable trainer in less time."""

from functools import partial
from typing import Any

from torch import Tensor

from annotated_transformer.batches import AnyBatch
from annotated_transformer.fast.output_loss import output_loss
from annotated_transformer.fast.twin import fast_twin, format_of
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_number
from annotated_transformer.training import Schedule, Trainer
from annotated_transformer.transformer import Transformer
from annotated_transformer.weights import buffers_of


def require_fast(model: Transformer) -> None:
    """Refuse a model with features that a twin does not support.

    Raises:
        InputError: if it has an auxiliary loss, or buffers that are saved.
    """
    if hasattr(model, "auxiliary_loss") or buffers_of(model):
        raise InputError(
            f"{type(model).__name__} has an auxiliary loss, or buffers that are saved, which the "
            "fast engine does not support: use the readable one."
        )


class FastTrainer(Trainer):
    """A :class:`Trainer` of a Transformer whose steps are computed by a fast twin of the model.

    Weights, optimiser, average and checkpoints are those of the readable model. In 16 bits, weights
    are rounded for the products of a step and activations are stored rounded; the weights that are
    updated keep all their bits.

    Source: weights in full precision: Micikevicius et al. 2018, section 3.1.
    """

    def __init__(
        self,
        model: Transformer,
        smoothing: float,
        schedule: Schedule,
        *,
        precision: str = "float32",
        **settings: Any,
    ) -> None:
        """Make the trainer and the twin; ``settings`` are those of :class:`Trainer`.

        Raises:
            InputError: if the precision is unknown, the smoothing outside [0, 1), or the model has
                an auxiliary loss or saved buffers, which the twin does not support.
        """
        require_fast(model)
        require_number("smoothing", smoothing, below=1.0)
        dtype = format_of(model, precision)
        loss = partial(output_loss, model.output, smoothing=smoothing)
        super().__init__(model, loss, schedule, precision=precision, **settings)
        self.twin = fast_twin(model, dtype)

    def logits(self, part: AnyBatch) -> Tensor:
        """Compute the inputs of the output layer, (batch, tgt, d_model)."""
        self.twin.train(self.model.training)
        hidden: Tensor = self.twin(*part.inputs)
        return hidden

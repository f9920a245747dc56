"""Weight averaging: a model that is the running mean of the models that training passes through."""

import torch
from torch import nn

from annotated_transformer.errors import InputError


class WeightAverage:
    """average ← β · average + (1 − β) · weights, after every step.

    The noise of single steps cancels in the mean. Early on β is smaller, (1 + t) / (10 + t), so
    that the random weights of the beginning are soon forgotten.

    Source: Polyak and Juditsky 1992; exponential: Kingma and Ba 2015, section 7.2; the smaller β
    early on: TensorFlow's ``ExponentialMovingAverage`` with ``num_updates``. The paper of the
    Transformer averages its last 5 (or 20) checkpoints instead (section 6.1).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Begin with the weights as they are.

        Raises:
            InputError: if the decay is outside [0, 1).
        """
        if not 0 <= decay < 1:
            raise InputError(f"decay is {decay}, it must be at least 0 and below 1.")
        self.decay = decay
        self.weights = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Take in the weights after ``step``, counted from 1."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, parameter in model.named_parameters():
            self.weights[name].lerp_(parameter, 1 - decay)

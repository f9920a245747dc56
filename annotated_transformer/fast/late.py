"""Numbers that a device still computes: they are sent for now, and read later."""

import torch
from torch import Tensor

from annotated_transformer.ground.devices import CPU


class Late:
    """Numbers of a step on their way from the device, to be read a step later."""

    def __init__(self, numbers: Tensor) -> None:
        """Let the device send them as soon as it has them."""
        self.numbers = numbers.to(CPU, non_blocking=True)
        self.sent = None if numbers.is_cpu else torch.Event(numbers.device)
        if self.sent is not None:
            self.sent.record()

    def read(self) -> tuple[float, float]:
        """Return the numbers, once they are here."""
        if self.sent is not None:
            self.sent.synchronize()
        first, second = self.numbers.tolist()
        return first, second

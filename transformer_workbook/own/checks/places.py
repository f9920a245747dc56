"""Places: whether a tensor is made where it is to be, even if there is only one device."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

MAKING = {torch.arange, torch.empty, torch.eye, torch.full, torch.ones, torch.tensor, torch.zeros}

PLACES = (torch.device, str, Tensor)
"""What says in a call of ``to`` where: a device, its name, or a tensor that is there."""


class Nowhere(Tensor):
    """A tensor for which no device was named, and all that is computed from it."""

    def to(self, *where: Any, **how: Any) -> Tensor:
        """Now it is somewhere, unless it was only given another type."""
        named = [one for one in (*where, *how.values()) if isinstance(one, PLACES)]
        moved = super().to(*where, **how)
        return moved.as_subclass(Tensor) if named else moved


class _Watched(TorchFunctionMode):
    def __torch_function__(
        self, function: Any, types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        lost = function in MAKING and (kwargs or {}).get("device") is None
        return made.as_subclass(Nowhere) if lost else made


def has_its_device(make: Callable[[], Any]) -> bool:
    """Whether what is made is where it was asked for."""
    with _Watched():
        return not isinstance(make(), Nowhere)

"""Places: whether a tensor is made on the right device, even if there is only one device."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

MAKING = {torch.arange, torch.empty, torch.eye, torch.full, torch.ones, torch.tensor, torch.zeros}

PLACES = (torch.device, str, Tensor)
"""What names the device in a call of ``to``: a device, its name, or a tensor on it."""


class Nowhere(Tensor):
    """A tensor for which no device was named, or one computed from it."""

    def to(self, *where: Any, **how: Any) -> Tensor:
        """Return a tensor with a device, unless only the type was changed."""
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
    """Tell whether a tensor is made on the device that was asked for."""
    with _Watched():
        return not isinstance(make(), Nowhere)

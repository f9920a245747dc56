"""LoRA: a frozen linear layer learns by two narrow matrices beside it."""

import math
from typing import Any, cast

from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.inputs import require_sizes


class LoRALinear(nn.Module):
    """A frozen linear layer with a trained change of low rank: y = W x + b + (α / r) B A x.

    A (rank, d_in) is initialised at random and B (d_out, rank) to zero, so that at first the layer
    computes what it computed before. α is the rank unless another is given: then the factor is 1.

    Source: Hu et al. 2022, section 4.1.

    Raises:
        InputError: if the rank is not an integer of at least 1.
    """

    def __init__(self, layer: nn.Linear, rank: int, alpha: float | None = None) -> None:
        require_sizes(rank=rank)
        super().__init__()
        self.layer = layer.requires_grad_(False)
        d_out, d_in = layer.weight.shape
        self.A = nn.Parameter(layer.weight.new_empty(rank, d_in))
        self.B = nn.Parameter(layer.weight.new_zeros(d_out, rank))
        self.scale = (rank if alpha is None else alpha) / rank
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))  # as nn.Linear does

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """Compute the frozen layer, and add its change."""
        return cast(Tensor, self.layer(x)) + self.scale * (x @ self.A.T @ self.B.T)

    @property
    def weight(self) -> Float[Tensor, "d_out d_in"]:
        """Compute the matrix of a merged layer, W + (α / r) B A."""
        return self.layer.weight + self.scale * self.B @ self.A

    def merge(self) -> nn.Linear:
        """Store the merged matrix in the frozen layer, and return that layer."""
        self.layer.weight.data = self.weight.detach()
        return self.layer


def add_lora(module: nn.Module, rank: int, alpha: float | None = None) -> None:
    """Freeze a module; put a :class:`LoRALinear` in the place of every linear layer inside it."""
    module.requires_grad_(False)
    for parent, name, layer in _children(module, nn.Linear):
        setattr(parent, name, LoRALinear(layer, rank, alpha))


def merge_lora(module: nn.Module) -> None:
    """Put merged linear layers in the place of every :class:`LoRALinear` inside a module."""
    for parent, name, layer in _children(module, LoRALinear):
        setattr(parent, name, layer.merge())


def _children(module: nn.Module, kind: type[nn.Module]) -> list[tuple[nn.Module, str, Any]]:
    parents = list(module.modules())
    return [(p, name, c) for p in parents for name, c in p.named_children() if isinstance(c, kind)]

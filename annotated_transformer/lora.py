"""LoRA: a frozen linear layer learns by two narrow matrices beside it."""

from collections import Counter
from typing import Any, cast

from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_number, require_sizes


class LoRALinear(nn.Module):
    """Add a trained change of low rank to a frozen linear layer: y = W x + b + (α / r) B A x.

    A (rank, d_in) is initialised at random and B (d_out, rank) to zero, so that at first the layer
    computes what it computed before. α is the rank unless another is given: then the factor is 1.

    Source: Hu et al. 2022, section 4.1.

    Raises:
        InputError: if the rank is not an integer of at least 1, α not above 0, or the layer no
            nn.Linear, or one that computes something else as well.
    """

    def __init__(self, layer: nn.Linear, rank: int, alpha: float | None = None) -> None:
        _require_plain("layer", layer)
        require_sizes(rank=rank)
        if alpha is not None:
            require_number("alpha", alpha, above=0.0)
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.A = nn.Parameter(layer.weight.new_empty(rank, layer.in_features))
        self.B = nn.Parameter(layer.weight.new_zeros(layer.out_features, rank))
        self.scale = (rank if alpha is None else alpha) / rank
        nn.init.kaiming_uniform_(self.A, a=5**0.5)  # as nn.Linear does

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """Compute the frozen layer, and add its change."""
        return cast(Tensor, self.layer(x)) + self.scale * (x @ self.A.T @ self.B.T)

    @property
    def weight(self) -> Float[Tensor, "d_out d_in"]:
        """Compute the matrix of the merged layer, W + (α / r) B A."""
        return self.layer.weight + self.scale * self.B @ self.A

    @property
    def bias(self) -> Float[Tensor, " d_out"] | None:
        """Return b: PyTorch's attention takes the weight and the bias of a layer, it calls none."""
        return self.layer.bias


def _require_plain(name: str, layer: Any) -> None:
    plain = isinstance(layer, nn.Linear) and type(layer).forward is nn.Linear.forward
    if not plain or "weight" not in dict(layer.named_parameters()):  # it may be computed, too
        kind = type(layer).__name__
        raise InputError(f"{name} is a {kind}, it must be an nn.Linear that computes W x + b only.")


def add_lora(module: nn.Module, rank: int, alpha: float | None = None) -> None:
    """Freeze a module, and put a :class:`LoRALinear` in the place of each linear layer in it.

    Raises:
        InputError: if there is no linear layer, or the module itself is one, a layer computes more
            than W x + b, or a layer shares its weights, as those of the output may be shared with
            the embeddings: its change would not be theirs.
    """
    uses = Counter(id(p) for _, p in module.named_parameters(remove_duplicate=False))
    layers = {n: layer for n, layer in module.named_modules() if isinstance(layer, nn.Linear)}
    if not layers:
        raise InputError(f"module is a {type(module).__name__}, it must have an nn.Linear in it.")
    for name, layer in layers.items():
        _require_plain(f"layer {name!r}", layer)
        if not name or uses[id(layer.weight)] > 1:
            raise InputError(
                f"layer {name!r} gets no LoRA: it must be inside the module, with weights that "
                "nothing else uses."
            )
    changed = {name: LoRALinear(layer, rank, alpha) for name, layer in layers.items()}
    module.requires_grad_(False)
    for name, lora in changed.items():
        module.set_submodule(name, lora)


def merge_lora(module: nn.Module) -> None:
    """Put merged linear layers in the place of every :class:`LoRALinear` in a module.

    All stays frozen, as :func:`add_lora` left it: ``module.requires_grad_()`` lets it train on. A
    merged weight is rounded to the format of its layer, in 16 bits perhaps by more than LoRA added.

    Raises:
        InputError: if the module itself is a :class:`LoRALinear`.
    """
    if isinstance(module, LoRALinear):
        raise InputError("module is a LoRALinear, it must be the module around it.")
    for name, layer in reversed(list(module.named_modules())):  # inner ones first
        if isinstance(layer, LoRALinear):
            layer.layer.weight.data = layer.weight.detach()
            module.set_submodule(name, layer.layer)

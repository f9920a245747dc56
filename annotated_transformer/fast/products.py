"""Matrix products: by the faster library, and in 16 bits if asked for."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.ground.devices import CPU

PACKED_FOR = 64
"""The rows of a product for which weights are packed; they suit eight or 400 rows as well."""


def is_for_cpu(x: Tensor) -> bool:
    """Tell whether a CPU computes operation by operation, which these modules are made for.

    An accelerator, and the compiler, are as fast with PyTorch's own.
    """
    return x.device.type == CPU and not torch.compiler.is_compiling()


def linear(
    x: Float[Tensor, "*batch inner"],
    weight: Float[Tensor, "outer inner"],
    bias: Float[Tensor, " outer"] | None = None,
) -> Float[Tensor, "*batch outer"]:
    """Compute x Wᵀ + b, through oneDNN if it supports the CPU.

    PyTorch uses MKL for float32, which on AMD's CPUs with AVX-512 takes about twice as long,
    and elsewhere as long. In 16 bits it writes b into every row first, which here is added later.
    """
    if x.device.type == CPU and onednn_multiplies(x.dtype):
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return F.linear(x, weight, bias)


def onednn_multiplies(dtype: torch.dtype) -> bool:
    """Tell whether oneDNN is available, and multiplies numbers of that format on this CPU."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return dtype == torch.float32


def transposed_product(
    rows: Float[Tensor, "batch outer"], others: Float[Tensor, "batch inner"]
) -> Float[Tensor, "outer inner"]:
    """Compute rowsᵀ · others; in 32 bits both are copied for oneDNN, where MKL is slow.

    The second copy is the cheaper one, so the wider matrix is second.
    """
    if rows.dtype == torch.float32 and torch.backends.cpu.get_cpu_capability() == "AVX512":
        if rows.size(1) > others.size(1):
            return linear(others.t(), rows.t()).t()
        return linear(rows.t(), others.t())
    return rows.t() @ others


class Product(torch.autograd.Function):
    """x Wᵀ + b in a number format of its own; the gradient of W is in that of W."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype
    ) -> Tensor:
        """Compute the product, in that format."""
        ctx.formats = x.dtype, weight.dtype, None if bias is None else bias.dtype
        x, weight = x.to(dtype), weight.to(dtype)
        ctx.save_for_backward(x, weight)
        return linear(x, weight, None if bias is None else bias.to(dtype))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        """Compute the gradients of x, W and b."""
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.formats
        rows = gradient.flatten(0, -2)
        into_weight = transposed_product(rows, x.flatten(0, -2))
        into_bias = None if of_bias is None else rows.sum(0).to(of_bias)
        into_x = linear(rows, weight.t()).view_as(x)  # as rows: PyTorch folds no batch here
        return into_x.to(of_x), into_weight.to(of_weight), into_bias, None


class RoundedLinear(nn.Module):
    """A linear layer for translating: its weights are rounded once, and have no gradients.

    For oneDNN they are also packed once, in the order in which it reads them. It would pack them
    for every product, which takes longer than a product with few rows.
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(self, layer: nn.Linear, dtype: torch.dtype) -> None:
        super().__init__()
        bias = None if layer.bias is None else layer.bias.detach().to(dtype)
        weight = layer.weight.detach().to(dtype)
        if weight.device.type == CPU and onednn_multiplies(dtype):
            weight = torch.ops.mkldnn._reorder_linear_weight(weight, PACKED_FOR)
        self.register_buffer("weight", weight, persistent=False)
        self.register_buffer("bias", bias, persistent=False)

    def forward(self, x: Float[Tensor, "*batch inner"]) -> Float[Tensor, "*batch outer"]:
        """Compute x Wᵀ + b."""
        return linear(x.to(self.weight.dtype), self.weight, self.bias)


class FastLinear(nn.Linear):
    """A linear layer that keeps its weights, and multiplies in another number format."""

    def __init__(self, layer: nn.Linear, dtype: torch.dtype) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias, self.dtype = layer.weight, layer.bias, dtype

    def forward(self, x: Float[Tensor, "*batch inner"]) -> Float[Tensor, "*batch outer"]:
        """Compute x Wᵀ + b."""
        if not is_for_cpu(x):
            bias = None if self.bias is None else self.bias.to(self.dtype)
            return F.linear(x.to(self.dtype), self.weight.to(self.dtype), bias).to(x.dtype)
        product: Tensor = Product.apply(  # type: ignore[no-untyped-call]
            x, self.weight, self.bias, self.dtype
        )
        return product

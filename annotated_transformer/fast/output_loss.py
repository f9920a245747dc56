"""The loss together with the output layer: the (batch × vocabulary) logits are never stored.

The tokens are processed in chunks, and the gradient is computed in the forward pass, while a
chunk's probabilities are available. What is stored is as small as the layer's input and weights.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from annotated_transformer.fast.products import linear, transposed_product
from annotated_transformer.ground.devices import CPU
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_ids, require_number
from annotated_transformer.tokens import PAD

CHUNK, LARGE_CHUNK = 512, 4096
"""Tokens in a chunk: their logits should fit into a CPU's cache, or fill an accelerator."""


def surprisal(
    chosen: Float[Tensor, " tokens"],
    target: Int[Tensor, " tokens"],
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    bias: Float[Tensor, " vocab"],
) -> Float[Tensor, " tokens"]:
    """Compute −log p of the targets, from p; where p underflows, from their logits h Wᵀ + b."""
    nats = -chosen.to(torch.promote_types(chosen.dtype, torch.float32)).log()
    vanished = chosen < torch.finfo(chosen.dtype).tiny
    if vanished.any():
        logits = linear(hidden[vanished], weight, bias).to(nats)
        nats[vanished] = F.cross_entropy(logits, target[vanished], reduction="none")
    return nats


class OutputLoss(torch.autograd.Function):
    """Smoothed cross-entropy of h Wᵀ + b, summed over tokens, with its gradients.

    With p = softmax(z), z = h Wᵀ + b and V words, the loss of a token y is
    −log p_y + ε z_y − ε mean(z), and its gradient p − (1 − ε) one-hot(y) − ε / V. The uniform part
    needs no logits: mean(z) = h · mean(W) + mean(b).
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float
    ) -> Tensor:
        """Compute the loss; its gradients are stored."""
        vocab, dtype = weight.size(0), weight.dtype
        rounded, uniform = weight.to(hidden.dtype), weight.mean(0)
        shift = bias.to(hidden.dtype)
        into_hidden, into_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        into_bias, total = torch.zeros_like(bias), bias.new_zeros(())
        is_here = hidden.device.type == CPU
        chunk = CHUNK if is_here else LARGE_CHUNK
        for start in range(0, len(hidden), chunk):
            part = slice(start, start + chunk)
            h, y = hidden[part], target[part]
            at_target = torch.arange(len(h), device=h.device), y
            p = linear(h, rounded, shift)
            at_y = p[at_target].to(dtype)
            total += smoothing * at_y.sum()
            # An accelerator would be waited for to learn whether p underflows: −log p from z there.
            ahead = None if is_here else p.amax(-1) - at_y
            torch.softmax(p, -1, out=p)
            if ahead is None:
                nats = surprisal(p[at_target], y, h, rounded, shift)
            else:  # the largest p is at least 1 / V
                nats = ahead - p.amax(-1).to(dtype).log()
            total += nats.sum(dtype=dtype)
            p[at_target] -= 1 - smoothing
            into_bias += p.sum(0)
            into_hidden[part] = linear(p, rounded.t())
            product = transposed_product(p, h)
            # In the layout of the first product: adding in another layout takes far longer.
            into_weight = into_weight.add_(product) if start else product.to(dtype)
        total -= smoothing * (hidden.to(dtype) @ uniform + bias.mean()).sum()
        into_hidden -= (smoothing * uniform).to(hidden.dtype)
        into_weight -= smoothing / vocab * hidden.sum(0, dtype=dtype)
        into_bias -= smoothing / vocab * len(hidden)
        ctx.save_for_backward(into_hidden, into_weight, into_bias)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        """Return the stored gradients."""
        into_hidden, into_weight, into_bias = ctx.saved_tensors
        factor = gradient.to(into_hidden.dtype)
        return into_hidden * factor, into_weight * gradient, into_bias * gradient, None, None


def output_loss(
    output: nn.Linear,
    hidden: Float[Tensor, "batch tgt d_model"],
    target: Int[Tensor, "batch tgt"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Compute :func:`smoothed_cross_entropy` of ``output(hidden)``.

    Raises:
        InputError: if the smoothing is outside [0, 1), or the targets are not ids of that shape.
    """
    require_number("smoothing", smoothing, below=1.0)
    if target.shape != hidden.shape[:2]:
        raise InputError(
            f"target has the shape {[*target.shape]}, it must be {[*hidden.shape[:2]]}."
        )
    require_ids("target", target, output.out_features)
    real = (target != PAD).flatten().nonzero()[:, 0]
    bias = output.weight.new_zeros(output.out_features) if output.bias is None else output.bias
    loss: Tensor = OutputLoss.apply(  # type: ignore[no-untyped-call]
        hidden.flatten(0, 1).index_select(0, real),
        *(output.weight, bias, target.flatten()[real], smoothing),
    )
    return loss

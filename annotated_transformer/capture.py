"""Capture: record the attention weights of any model while it runs, without changing it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.soft_lookup import SoftLookup

Captured = dict[str, list[Tensor]]
"""The weights (batch, heads, query, key) of each call, for every attention module by name."""


@contextmanager
def capture_attention(model: nn.Module) -> Iterator[Captured]:
    """Record the attention weights of every attention module that runs inside the block.

    The outputs of the model stay the same; the weights are computed separately from the same
    queries, keys and mask, and detached from the gradient graph.

    >>> from annotated_transformer.transformer import Transformer, TransformerConfig
    >>> model = Transformer(TransformerConfig.tiny(10, 10))
    >>> with capture_attention(model) as captured:
    ...     _ = model(torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7]]))
    >>> captured["decoder.1.cross_attention"][0].shape
    torch.Size([1, 4, 2, 3])
    """
    captured: Captured = {}

    def hook_for(name: str) -> Any:
        def hook(
            module: SoftLookup, args: tuple[Any, ...], kwargs: dict[str, Any], output: Tensor
        ) -> None:
            call = signature(module.forward).bind(*args, **kwargs).arguments
            weights = module.weights(call["query"], call["key"], call.get("mask")).detach()
            with_heads = weights if weights.dim() == 4 else weights.unsqueeze(1)
            captured.setdefault(name, []).append(with_heads)

        return hook

    handles = [
        module.register_forward_hook(hook_for(name.removesuffix(".attention")), with_kwargs=True)
        for name, module in model.named_modules()
        if isinstance(module, SoftLookup)
    ]
    try:
        yield captured
    finally:
        for handle in handles:
            handle.remove()


def join_calls(
    calls: Sequence[Float[Tensor, "batch heads _ _"]],
) -> Float[Tensor, "batch heads query key"]:
    """Join the calls of a model that attends step by step into one matrix, row after row.

    A query that came before a key existed gave it no weight: the rest of its row is zero.
    """
    longest = max(weights.size(-1) for weights in calls)
    return torch.cat([F.pad(w, (0, longest - w.size(-1))) for w in calls], dim=-2)

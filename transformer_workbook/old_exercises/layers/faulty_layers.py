"""Layers: encoder layers with the parts of PyTorch's, and something wrong."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class _Layer(nn.Module):
    """A layer with the parts of PyTorch's; a faulty one has other ``choices``."""

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, norm_first: bool, **choices: Any
    ) -> None:
        super().__init__()
        heads = choices.get("heads", num_heads)
        self.norm_first = choices.get("order", lambda asked: asked)(norm_first)
        by_batch = choices.get("by_batch", True)
        self.self_attn = nn.MultiheadAttention(d_model, heads, batch_first=by_batch)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.choices = choices

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """One layer further."""
        get, norms, start = self.choices.get, [self.norm1, self.norm2, nn.Identity()], x
        first, second = (norms[i] for i in get("norms", (0, 1)))
        keep_1, keep_2 = get("shortcuts", (1, 1))
        first_part, second_part = get("parts", (1, 1))
        pre = self.norm_first

        def attend(y: Tensor, other: Tensor) -> Tensor:
            if get("square"):
                return self.self_attn(y, other, other, attn_mask=hidden)[0]
            mask = get("hide", lambda hidden: hidden)(hidden)
            return first_part * self.self_attn(y, other, other, key_padding_mask=mask)[0]

        def work(y: Tensor) -> Tensor:
            bent: Tensor = get("bend", torch.relu)(self.linear1(y))
            return second_part * get("outer", lambda x: x)(self.linear2(bent))

        if get("zeroed"):
            x = x.masked_fill(hidden[..., None], 0)
        if get("inside", (False, False))[pre]:
            x = x + first(attend(x, x))
            return x + second(work(x))
        if not pre:
            x = first(keep_1 * x + attend(x, x))
            return second(keep_2 * (start if get("again") else x) + work(x))
        y, normed = first(x), get("normed", (False, False))
        x = keep_1 * (y if normed[0] else x) + attend(y, x if get("asks") else y)
        y = second(x)
        x = keep_2 * (start if get("again") else y if normed[1] else x) + work(y)
        return get("plain", lambda x: x)(second(x) if get("ends") else x)


def faulty(**choices: Any) -> Callable[..., nn.Module]:
    """Builds an encoder layer in which something is chosen wrongly."""
    return lambda *sizes: _Layer(*sizes, **choices)

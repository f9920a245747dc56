"""Experts: many feed-forward networks instead of one, of which each token uses only a few."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.ground.inputs import require_number, require_sizes, require_whole


@dataclass(frozen=True)
class Routing:
    """What a router decides: p of all experts, the k chosen, and their weights (0: was full)."""

    p: Float[Tensor, "token expert"]
    chosen: Int[Tensor, "token k"]
    weights: Float[Tensor, "token k"]

    @property
    def load(self) -> Float[Tensor, " expert"]:
        """The share of all choices that fell on each expert, before any was full."""
        return F.one_hot(self.chosen, self.p.size(1)).to(self.p).mean(dim=(0, 1))

    @property
    def imbalance(self) -> Float[Tensor, ""]:
        """E Σᵢ loadᵢ mean(pᵢ), an auxiliary loss: 1 if all is even. (Fedus et al. 2022, eq. 4.)"""
        return self.p.size(1) * self.load @ self.p.mean(dim=0)


class Router(nn.Module):
    """p = softmax(W x): choose the k experts with the largest p + bias, and weigh them by p.

    The k weights are divided by their sum, which makes them the softmax of the k logits alone. If
    k is 1 the weight stays p: divided by itself it would be 1, and the router would not train.

    With a capacity, an expert takes ⌈capacity · k · tokens / experts⌉ tokens of a pass, all first
    choices before the second ones. What is beyond gets the weight 0.

    Source: Fedus et al. 2022, section 2; Jiang et al. 2024, section 2.1; bias: Wang et al. 2024.
    """

    def __init__(self, d_model: int, num_experts: int, k: int, capacity: float | None) -> None:
        require_sizes(d_model=d_model, num_experts=num_experts)
        require_whole("k", k, 1, num_experts)
        if capacity is not None:
            require_number("capacity", capacity, above=0.0)
        super().__init__()
        self.logits, self.k, self.capacity = nn.Linear(d_model, num_experts, False), k, capacity
        self.bias = nn.Buffer(torch.zeros(num_experts))

    def _apply(self, fn: Any, recurse: bool = True) -> "Router":
        bias = self.bias
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.bias.dtype.itemsize < 4:  # in 16 bits, small steps would soon change nothing
            self.bias.data = bias.to(self.bias.device)
        return self

    def forward(self, tokens: Float[Tensor, "token d_model"]) -> Routing:
        """Choose the experts of each token."""
        logits = self.logits(tokens)  # (token, expert)
        p = logits.softmax(dim=-1)
        chosen = (p + self.bias).topk(self.k).indices  # (token, k)
        # Not p / Σ p: of experts that only the bias chose, all p may have rounded to 0.
        weights = logits.gather(-1, chosen).softmax(-1) if self.k > 1 else p.gather(-1, chosen)
        if self.capacity is not None:
            queue = F.one_hot(chosen.T, p.size(1)).flatten(0, 1)  # (k · token, expert)
            place = (queue.cumsum(dim=0) * queue).sum(dim=-1).view(self.k, -1).T  # from 1
            weights = weights * (place <= math.ceil(self.capacity * len(queue) / p.size(1)))
        return Routing(p, chosen, weights)

    @torch.no_grad()
    def balance(self, routing: Routing, rate: float) -> None:
        """Raise the bias of every expert with less than its share, lower that of the others."""
        self.bias.add_((1 / len(self.bias) - routing.load).sign(), alpha=rate)


class Experts(nn.Module):
    """y = S(x) + Σᵢ gᵢ Eᵢ(x) over the k chosen experts: takes the place of a feed-forward network.

    Without a capacity a token's output depends on this token alone. With one, tokens compete for
    places: later tokens, other sentences and padding change the output of a token, and reading a
    text token by token gives another one than reading it at once.

    Source: Shazeer et al. 2017, section 2; the shared expert S: Dai et al. 2024, section 3.2.
    """

    def __init__(
        self, d_model: int, experts: Sequence[nn.Module], k: int = 2,
        shared: nn.Module | None = None, capacity: float | None = None,
    ) -> None:  # fmt: skip
        """Make the router of these feed-forward networks, of whichever class.

        Raises:
            InputError: if there are not k experts, k is below 1, or the capacity not above 0.
        """
        super().__init__()
        self.router = Router(d_model, len(experts), k, capacity)
        self.experts, self.shared = nn.ModuleList(experts), shared

    def forward(self, x: Float[Tensor, "batch time d"]) -> Float[Tensor, "batch time d"]:
        """Send each token to its experts, and sum what they return."""
        tokens = x.flatten(0, 1)
        routing = self.router(tokens)
        y = torch.zeros_like(tokens) if self.shared is None else self.shared(x).flatten(0, 1)
        for number, expert in enumerate(self.experts):
            sent, choice = ((routing.chosen == number) & (routing.weights != 0)).nonzero().T
            added = routing.weights[sent, choice, None] * expert(tokens[None, sent])[0]
            y = y.index_add(0, sent, added.to(y.dtype))  # under autocast, that of the input
        return y.view_as(x)

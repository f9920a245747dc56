"""Checks of attention with several heads."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from transformer_workbook.own.checks.attention import CAUSAL, X
from transformer_workbook.own.checks.check import (
    Check,
    drawn,
    filled,
    gradient,
    linear,
    parts,
    refusal,
)
from transformer_workbook.own.checks.soft_lookup import weights_by_hand

Y = drawn("y", 2, 3, 8)
KEYS = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]]).bool()[:, None, None]


@torch.no_grad()
def of_torch(name: str = "", groups: int = 1) -> nn.MultiheadAttention:
    """Make PyTorch's attention of four heads; in groups they share keys and values."""
    theirs = nn.MultiheadAttention(8, 4, batch_first=True).double().eval()
    for i, side in enumerate(("query", "key", "value")):
        for kind, target in (("weight", theirs.in_proj_weight), ("bias", theirs.in_proj_bias)):
            rows = 8 if side == "query" else 8 // groups
            ours = drawn(f"{name}{side}.{kind}", rows, *[8] * (kind == "weight"))
            heads = ours.view(-1, 2, *ours.shape[1:]).repeat_interleave(8 // rows, dim=0)
            target[8 * i : 8 * i + 8] = heads.flatten(0, 1)
    for kind in ("weight", "bias"):
        tensor = getattr(theirs.out_proj, kind)
        tensor.copy_(drawn(f"{name}output.{kind}", *tensor.shape))
    return theirs


@torch.no_grad()
def _theirs(mask: Tensor | None, groups: int = 1) -> Tensor:
    hidden = None if mask is None else ~mask[:, 0, 0]
    return of_torch(groups=groups)(Y, X, X, key_padding_mask=hidden)[0]


@torch.no_grad()
def _in_parts(m: Any) -> list[Any]:
    layer = filled(m.MultiHeadAttention(8, 4))
    empty, seen = layer.empty(2), layer.empty(2)
    for part in (X[:, :3], X[:, 3:]):
        seen = seen.append(layer.project(part, part))
    return [empty.length, seen.length, layer.attend(Y, seen, KEYS)]


@torch.no_grad()
def _extended(m: Any) -> list[Any]:
    layer = filled(m.MultiHeadAttention(8, 4, num_kv_heads=2))
    past, said, empty = layer.empty(2), [], layer.empty(2)
    for start, end in ((0, 1), (1, 3), (3, 4)):
        found, past = layer.extend(X[:, start:end], past, CAUSAL[:, None, start:end, :end])
        said.append(found)
    return [tuple(empty.keys.shape), tuple(empty.values.shape), past.length, torch.cat(said, dim=1)]


def _extended_by_torch() -> list[Any]:
    expected = of_torch(groups=2)(X, X, X, attn_mask=~CAUSAL[0])[0].detach()
    return [(2, 2, 0, 2), (2, 2, 0, 2), 4, expected]


@torch.no_grad()
def _wide(m: Any) -> Tensor:
    return filled(m.MultiHeadAttention(8, 2, d_k=3, d_v=5))(X, X, X, CAUSAL[:, None])


def _wide_by_hand() -> Tensor:
    query, key, value = (linear(n, X, d) for n, d in (("query", 6), ("key", 6), ("value", 10)))
    heads = [
        weights_by_hand(q @ k.mT / math.sqrt(3), CAUSAL) @ v
        for q, k, v in zip(*(x.chunk(2, dim=-1) for x in (query, key, value)), strict=True)
    ]
    return linear("output", torch.cat(heads, dim=-1), 8)


BY_HEAD = torch.cat([KEYS, KEYS, CAUSAL[:, None, 3:].expand(2, -1, -1, -1), KEYS], dim=1)
"""A mask of keys for each head; the third may attend to all."""


def _by_head() -> Tensor:
    theirs = of_torch()(Y, X, X, attn_mask=~BY_HEAD.expand(-1, -1, 3, -1).flatten(0, 1))[0]
    return theirs.detach()


WRONG = (
    {"num_heads": 3}, {"num_heads": 0}, {"num_heads": 4, "num_kv_heads": 3},
    {"num_heads": 4, "d_k": 0},
)  # fmt: skip


QUERIES_AT, KEYS_AT = torch.tensor([[5, 6, 7], [2, 3, 9]]), torch.tensor([[3, 4, 5, 6]])
FIRST = torch.tensor([[0, 1, 2, 3]])


def at(heads: Tensor, positions: Tensor) -> Tensor:
    """Encode positions in heads: the later, the larger."""
    return heads * (1 + positions[:, None, :, None] / 10)


def placing(attention: Any) -> Any:
    """Make a class of attention that encodes positions in queries and keys."""

    class Placing(attention):  # type: ignore[misc]
        def with_positions(self, heads: Tensor, positions: Tensor) -> Tensor:
            return at(heads, positions)

    return Placing


@torch.no_grad()
def _placed(m: Any) -> Tensor:
    layer = filled(placing(m.MultiHeadAttention)(8, 4))
    return layer.attend(Y, layer.project(X, X, KEYS_AT), KEYS, QUERIES_AT)


@torch.no_grad()
def _placed_at_once(m: Any) -> Tensor:
    return filled(placing(m.MultiHeadAttention)(8, 4))(Y, X, X, KEYS)


@torch.no_grad()
def _placed_in_parts(m: Any) -> Tensor:
    """Extend by new positions; the last one comes after a gap."""
    layer = filled(placing(m.MultiHeadAttention)(8, 4))
    past, found = layer.empty(2), []
    for start, end in ((0, 3), (3, 4)):
        new, to = X[:, start:end], KEYS_AT[:, start:end]
        one, past = layer.extend(new, past, CAUSAL[:, None, start:end, :end], to)
        found.append(one)
    return torch.cat(found, dim=1)


def _placed_by_hand(x: Tensor, queries_at: Tensor, keys_at: Tensor, mask: Tensor) -> Tensor:
    split = [linear(n, x, 8) for n, x in (("query", x), ("key", X), ("value", X))]
    query, key, value = (torch.stack(x.chunk(4, dim=-1), dim=1) for x in split)
    scores = at(query, queries_at) @ at(key, keys_at).mT / math.sqrt(2)
    return linear("output", torch.cat((weights_by_hand(scores, mask) @ value).unbind(1), -1), 8)


@torch.no_grad()
def _turned(m: Any) -> Tensor:
    class Turned(m.MultiHeadAttention):  # type: ignore[misc]
        def attend(self, *given: Any, **named: Any) -> Any:
            return -super().attend(*given, **named)

    return filled(Turned(8, 4))(Y, X, X, KEYS)


@torch.no_grad()
def _looked_up(m: Any) -> list[tuple[int, ...]]:
    """Return the shapes of the outputs of the submodule ``attention``."""
    layer, shapes = filled(m.MultiHeadAttention(8, 4)), []
    layer.attention.register_forward_hook(lambda _, given, heads: shapes.append(tuple(heads.shape)))
    layer(Y, X, X, KEYS)
    return shapes


CHECKS = (
    Check(
        "first_positions",
        "first_positions of (2, 4, 8)",
        lambda m: m.first_positions(X),
        lambda: torch.tensor([[0, 1, 2, 3]]),
    ),
    Check(
        "KeyValues",
        "lengths of the empty cache and of 3 + 1 positions; what attend gives, compared with torch",
        _in_parts,
        lambda: [0, 4, _theirs(KEYS)],
    ),
    Check(
        "MultiHeadAttention.split",
        "MultiHeadAttention(8, 4).split of (2, 4, 8)",
        lambda m: m.MultiHeadAttention(8, 4).split(X),
        lambda: torch.stack(X.chunk(4, dim=-1), dim=1),
    ),
    Check(
        "MultiHeadAttention.project",
        "keys and values of MultiHeadAttention(8, 4, num_kv_heads=2).project",
        lambda m: (lambda s: [s.keys.detach(), s.values.detach()])(
            filled(m.MultiHeadAttention(8, 4, num_kv_heads=2)).project(X, X)
        ),
        lambda: [torch.stack(linear(n, X, 4).chunk(2, dim=-1), dim=1) for n in ("key", "value")],
    ),
    Check(
        "MultiHeadAttention",
        "the names and shapes of the weights of MultiHeadAttention(8, 4)",
        lambda m: parts(m.MultiHeadAttention(8, 4)),
        lambda: {
            f"{n}.{kind}": (8, 8)[: 1 + (kind == "weight")]
            for n in ("key", "output", "query", "value")
            for kind in ("bias", "weight")
        },
    ),
    Check(
        "MultiHeadAttention",
        "MultiHeadAttention(8, 4) of queries (2, 3, 8) and keys (2, 4, 8), compared with torch.nn",
        lambda m: filled(m.MultiHeadAttention(8, 4))(Y, X, X).detach(),
        lambda: _theirs(None),
    ),
    Check(
        "MultiHeadAttention",
        "the shape of the weights of values of MultiHeadAttention(8, 4, d_k=3)",
        lambda m: tuple(m.MultiHeadAttention(8, 4, d_k=3).value.weight.shape),
        lambda: (8, 8),
    ),
    Check(
        "MultiHeadAttention",
        "MultiHeadAttention(8, 4) of queries, keys and values that differ, compared with torch.nn",
        lambda m: filled(m.MultiHeadAttention(8, 4))(Y, X, 1 - X).detach(),
        lambda: of_torch()(Y, X, 1 - X)[0].detach(),
    ),
    Check(
        "MultiHeadAttention",
        "MultiHeadAttention(8, 4) with a mask of padding, compared with torch.nn",
        lambda m: filled(m.MultiHeadAttention(8, 4))(Y, X, X, KEYS).detach(),
        lambda: _theirs(KEYS),
    ),
    Check(
        "MultiHeadAttention",
        "MultiHeadAttention(8, 4) with a mask for each head, compared with torch.nn",
        lambda m: filled(m.MultiHeadAttention(8, 4))(Y, X, X, BY_HEAD).detach(),
        _by_head,
    ),
    Check(
        "MultiHeadAttention",
        "the shape of the weights of MultiHeadAttention(8, 3, d_k=2, d_v=2)",
        lambda m: tuple(m.MultiHeadAttention(8, 3, d_k=2, d_v=2).query.weight.shape),
        lambda: (6, 8),
    ),
    Check(
        "MultiHeadAttention",
        "MultiHeadAttention(8, 2, d_k=3, d_v=5) with a causal mask, compared with a loop",
        _wide,
        _wide_by_hand,
    ),
    Check(
        "MultiHeadAttention",
        "MultiHeadAttention(8, 4, num_kv_heads=2), compared with torch.nn with heads repeated",
        lambda m: filled(m.MultiHeadAttention(8, 4, num_kv_heads=2))(Y, X, X, KEYS).detach(),
        lambda: _theirs(KEYS, 2),
    ),
    Check(
        "MultiHeadAttention",
        "the errors for 3 heads of 8, for 0 heads, for 3 heads of keys for 4, and for d_k=0",
        lambda m: [
            refusal(lambda s=sizes: m.MultiHeadAttention(8, **s))  # type: ignore[misc]
            for sizes in WRONG
        ],
        lambda: ["InputError"] * 4,
    ),
    Check(
        "MultiHeadAttention.extend",
        "the empty cache, and what extend gives in parts of 1, 2 and 1, compared with torch.nn",
        _extended,
        _extended_by_torch,
    ),
    Check(
        "MultiHeadAttention",
        "MultiHeadAttention(8, 4) whose with_positions enlarges later heads: keys at 3 to 6, "
        "queries at other positions in each sentence",
        _placed,
        lambda: _placed_by_hand(Y, QUERIES_AT, KEYS_AT, KEYS),
    ),
    Check(
        "MultiHeadAttention",
        "the same without positions: they are 0, 1, …",
        _placed_at_once,
        lambda: _placed_by_hand(Y, FIRST[:, :3], FIRST, KEYS),
    ),
    Check(
        "MultiHeadAttention.extend",
        "the same in parts of 3 and 1 position, which stand at 3 to 6",
        _placed_in_parts,
        lambda: _placed_by_hand(X, KEYS_AT, KEYS_AT, CAUSAL[:, None]),
    ),
    Check(
        "MultiHeadAttention",
        "what forward gives where a class derived from it turns the sign of what attend gives",
        _turned,
        lambda: -of_torch()(Y, X, X, key_padding_mask=~KEYS[:, 0, 0])[0].detach(),
    ),
    Check(
        "MultiHeadAttention",
        "the shapes of what its part attention gives, (batch, heads, query, d_v): pictures ask it",
        _looked_up,
        lambda: [(2, 4, 3, 2)],
    ),
    Check(
        "MultiHeadAttention",
        "the gradient of MultiHeadAttention(8, 4) by what it attends to, compared with torch.nn",
        lambda m: gradient(lambda x: filled(m.MultiHeadAttention(8, 4))(Y, x, x, KEYS), X),
        lambda: gradient(lambda x: of_torch()(Y, x, x, key_padding_mask=~KEYS[:, 0, 0])[0], X),
    ),
)

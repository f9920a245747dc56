"""Checks of the layers of the Transformer."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.ground.devices import CPU
from annotated_transformer.masking import causal_mask, padding_mask, target_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from transformer_workbook.judge.sentences import to_say
from transformer_workbook.own.checks.check import (
    SRC,
    TGT,
    Check,
    drawn,
    filled,
    gradient,
    linear,
    of_words,
    parts,
    refusal,
)
from transformer_workbook.own.checks.multi_head_attention import of_torch, placing

X, MEMORY = drawn("x", 3, 4, 8), drawn("memory", 3, 5, 8)
POSITIONS = ("post", "pre")


def normed(name: str, x: Tensor, kind: str = "layer") -> Tensor:
    """Apply a norm with the weights of that name, from its formula."""
    if kind == "layer":
        x = x - x.mean(-1, keepdim=True)
    scaled = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    shifted = scaled * drawn(f"{name}weight", 8)
    return shifted + drawn(f"{name}bias", 8) if kind == "layer" else shifted


def _residual(m: Any, position: str, norm: str) -> Tensor:
    layer = filled(m.Residual(8, 0.5, position, norm))
    return layer(X, lambda y: 3 * y).detach()


def _residual_by_hand(position: str, norm: str) -> Tensor:
    if position == "pre":
        return X + 3 * normed("norm.", X, norm)
    return normed("norm.", X + 3 * X, norm)


def _dropped(m: Any) -> list[Any]:
    layer = m.Residual(8, 0.75, "pre").double().train()
    added = layer(torch.zeros_like(X), torch.ones_like)
    kept = layer(X, torch.zeros_like)
    return [sorted({*added.flatten().tolist()}), bool(torch.equal(kept, X))]


def layer_of(m: Any, kind: str, position: str, placed: bool = False, dropout: float = 0.0) -> Any:
    """Make a layer of the module, with our attentions."""
    attentions = [MultiHeadAttention(8, 4) for _ in range(1 + (kind == "DecoderLayer"))]
    if placed:  # the source may be attended to from anywhere
        attentions[0] = placing(MultiHeadAttention)(8, 4)
    residual: Callable[[], Any] = lambda: m.Residual(8, dropout, position)  # noqa: E731
    return filled(getattr(m, kind)(*attentions, m.FeedForward(8, 12), residual))


@torch.no_grad()
def put_in(theirs: Any, name: str) -> Any:
    """Give PyTorch's layer the weights that ours has under that name."""
    others = {"self_attn": "self_attention.", "multihead_attn": "cross_attention."}
    for attribute, ours in others.items():
        if hasattr(theirs, attribute):
            setattr(theirs, attribute, of_torch(name + ours))
    named = {"linear1": "feed_forward.inner", "linear2": "feed_forward.outer"}
    named |= {f"norm{i}": f"residual_{i}.norm" for i in (1, 2, 3)}
    for attribute, ours in named.items():
        layer = getattr(theirs, attribute, None)
        for kind in ("weight", "bias") if layer else ():
            tensor = getattr(layer, kind)
            tensor.copy_(drawn(f"{name}{ours}.{kind}", *tensor.shape))
    return theirs


def layer_of_torch(kind: Any, position: str) -> Any:
    """Make a layer of PyTorch, with its norms at that position."""
    pre = position == "pre"
    return kind(8, 4, 12, dropout=0.0, batch_first=True, norm_first=pre).double()


@torch.no_grad()
def _encoder_by_torch(position: str) -> Tensor:
    theirs = put_in(layer_of_torch(nn.TransformerEncoderLayer, position), "")
    return theirs(MEMORY, src_key_padding_mask=SRC == 0)[SRC != 0]


@torch.no_grad()
def _decoder(
    m: Any, position: str, cuts: tuple[int, ...], placed: bool = False, dropped: bool = False
) -> Tensor:
    layer = layer_of(m, "DecoderLayer", position, placed, float(dropped)).train(dropped)
    memory = layer.cross_attention.project(MEMORY, MEMORY)
    past, said = layer.self_attention.empty(3), []
    for start, end in zip((0, *cuts), cuts, strict=False):
        mask, at = target_mask(TGT[:, :end], start), torch.arange(start, end, device=CPU)[None]
        output, past = layer(X[:, start:end], past, mask, memory, padding_mask(SRC), at)
        said.append(output)
    return of_words(torch.cat(said, dim=1))


@torch.no_grad()
def _decoder_by_torch(position: str) -> Tensor:
    theirs = put_in(layer_of_torch(nn.TransformerDecoderLayer, position), "")
    hidden = {"tgt_key_padding_mask": TGT == 0, "memory_key_padding_mask": SRC == 0}
    return of_words(theirs(X, MEMORY, tgt_mask=~causal_mask(4)[0, 0], **hidden))


def _layer_without_source(m: Any, position: str) -> Any:
    residual: Callable[[], Any] = lambda: m.Residual(8, 0.0, position)  # noqa: E731
    attention = MultiHeadAttention(8, 4)
    return filled(m.DecoderLayer(attention, None, m.FeedForward(8, 12), residual))


@torch.no_grad()
def _without_source(m: Any, position: str, layer: Any = None) -> Tensor:
    layer = layer or _layer_without_source(m, position)
    found: Tensor = layer(X, layer.self_attention.empty(3), causal_mask(4))[0]
    return found


@torch.no_grad()
def without_source_by_torch(name: str, position: str, x: Tensor, mask: Tensor) -> Tensor:
    """Apply PyTorch's encoder layer, with the weights of our decoder layer of that name."""
    theirs = put_in(layer_of_torch(nn.TransformerEncoderLayer, position), name)
    for kind in ("weight", "bias"):
        getattr(theirs.norm2, kind).copy_(drawn(f"{name}residual_3.norm.{kind}", 8))
    found: Tensor = theirs(x, src_mask=~mask)
    return found


def _feed_forward_by_hand() -> Tensor:
    return linear("outer", linear("inner", X, 12).clamp(min=0), 8)


def _encoder_of_torch(x: Tensor) -> Tensor:
    theirs = put_in(layer_of_torch(nn.TransformerEncoderLayer, "post"), "")
    return theirs(x, src_key_padding_mask=SRC == 0)[SRC != 0]


AT_ONCE = to_say("a {position}-norm DecoderLayer of (3, 4, 8) at once, compared with torch.nn")
IN_PARTS = to_say("a {position}-norm DecoderLayer of (3, 4, 8) in parts, compared with torch.nn")

CHECKS = (
    Check(
        "FeedForward",
        "FeedForward(8, 12) of (3, 4, 8), from its formula",
        lambda m: filled(m.FeedForward(8, 12))(X).detach(),
        _feed_forward_by_hand,
    ),
    Check(
        "FeedForward",
        "FeedForward(8, 12, 'swish') of (3, 4, 8), from its formula",
        lambda m: filled(m.FeedForward(8, 12, "swish"))(X).detach(),
        lambda: linear("outer", (lambda z: z / (1 + (-z).exp()))(linear("inner", X, 12)), 8),
    ),
    *(
        Check(
            "make_norm",
            "make_norm('{kind}', 8) of (3, 4, 8), from its formula",
            lambda m, kind=kind: filled(m.make_norm(kind, 8))(X).detach(),  # type: ignore[misc]
            lambda kind=kind: normed("", X, kind),  # type: ignore[misc]
            {"kind": kind},
        )
        for kind in ("layer", "rms")
    ),
    Check(
        "make_norm",
        "the error of make_norm('batch', 8)",
        lambda m: refusal(lambda: m.make_norm("batch", 8)),
        lambda: "InputError",
    ),
    *(
        Check(
            "Residual",
            "Residual(8, 0.5, '{position}', '{norm}') around a sub-layer that trebles, in "
            "evaluation",
            lambda m, p=position, n=norm: _residual(m, p, n),  # type: ignore[misc]
            lambda p=position, n=norm: _residual_by_hand(p, n),  # type: ignore[misc]
            {"position": position, "norm": norm},
        )
        for norm in ("layer", "rms")
        for position in POSITIONS
    ),
    Check(
        "Residual",
        "what dropout of 0.75 makes of ones that are added, in training; whether x is kept",
        _dropped,
        lambda: [[0.0, 4.0], True],
    ),
    Check(
        "Residual",
        "the error of Residual(8, 0.1, 'middle')",
        lambda m: refusal(lambda: m.Residual(8, 0.1, "middle")),
        lambda: "InputError",
    ),
    *(
        Check(
            "EncoderLayer",
            "a {position}-norm EncoderLayer of (3, 5, 8) with padding, compared with torch.nn",
            lambda m, p=position: layer_of(m, "EncoderLayer", p)(  # type: ignore[misc]
                MEMORY, padding_mask(SRC)
            )[SRC != 0].detach(),
            lambda p=position: _encoder_by_torch(p),  # type: ignore[misc]
            {"position": position},
        )
        for position in POSITIONS
    ),
    Check(
        "EncoderLayer",
        "what a pre-norm EncoderLayer gives in training whose dropout drops all: what it reads",
        lambda m: layer_of(m, "EncoderLayer", "pre", dropout=1.0).train()(
            MEMORY, padding_mask(SRC)
        ),
        lambda: MEMORY,
    ),
    *(
        Check(
            "DecoderLayer",
            claim,
            lambda m, p=position, c=cuts: _decoder(m, p, c),  # type: ignore[misc]
            lambda p=position: _decoder_by_torch(p),  # type: ignore[misc]
            {"position": position},
        )
        for position in POSITIONS
        for cuts, claim in (((4,), AT_ONCE), ((1, 3, 4), IN_PARTS))
    ),
    *(
        Check(
            "DecoderLayer",
            "a {position}-norm DecoderLayer without cross-attention, compared with torch.nn",
            lambda m, p=position: _without_source(m, p),  # type: ignore[misc]
            lambda p=position: without_source_by_torch("", p, X, causal_mask(4)[0, 0]),  # type: ignore[misc]
            {"position": position},
        )
        for position in POSITIONS
    ),
    Check(
        "DecoderLayer",
        "what a pre-norm DecoderLayer gives in training whose dropout drops all: what it reads",
        lambda m: _decoder(m, "pre", (4,), dropped=True),
        lambda: of_words(X),
    ),
    Check(
        "DecoderLayer",
        "the names of the norms of a DecoderLayer without cross-attention",
        lambda m: sorted(name for name in parts(_layer_without_source(m, "pre")) if "norm" in name),
        lambda: [f"residual_{i}.norm.{kind}" for i in (1, 3) for kind in ("bias", "weight")],
    ),
    Check(
        "DecoderLayer",
        "the error of a DecoderLayer with cross-attention that is given no memory",
        lambda m: refusal(lambda: _without_source(m, "pre", layer_of(m, "DecoderLayer", "pre"))),
        lambda: "InputError",
    ),
    Check(
        "DecoderLayer",
        "how far a DecoderLayer whose attention knows positions gives something else in parts",
        lambda m: (
            (_decoder(m, "pre", (1, 3, 4), True) - _decoder(m, "pre", (4,), True)).abs().max()
        ),
        lambda: torch.tensor(0.0, device=CPU),
    ),
    Check(
        "EncoderLayer",
        "the gradient of a post-norm EncoderLayer by what it reads, compared with torch.nn",
        lambda m: gradient(
            lambda x: layer_of(m, "EncoderLayer", "post")(x, padding_mask(SRC))[SRC != 0], MEMORY
        ),
        lambda: gradient(_encoder_of_torch, MEMORY),
    ),
)

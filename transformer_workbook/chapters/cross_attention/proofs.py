import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.functional import jacobian

from annotated_transformer import bahdanau, luong
from annotated_transformer.batches import Batch
from annotated_transformer.layers import DecoderLayer, FeedForward, Residual
from annotated_transformer.masking import causal_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from transformer_workbook.notebook.proofs import agree, holds, proof


@proof
def two_sentences(package: Any) -> None:
    """Called with two sentences, the layer computes what a loop over single queries does."""
    layer = package(6, 3)
    x, memory = torch.randn(2, 4, 6), torch.randn(2, 5, 6)  # (batch, target or source, d_model)
    with torch.no_grad():
        query, key, value = (  # (batch, time, heads, d_k)
            linear(each).unflatten(-1, (3, 2))
            for linear, each in ((layer.query, x), (layer.key, memory), (layer.value, memory))
        )
        gathered = torch.zeros(2, 4, 3, 2)
        for b in range(2):
            for h in range(3):
                for t in range(4):
                    asked = [query[b, t, h] @ key[b, j, h] for j in range(5)]
                    alpha = (torch.stack(asked) / math.sqrt(2)).softmax(dim=0)
                    gathered[b, t, h] = alpha @ value[b, :, h]
        by_loop = layer.output(gathered.flatten(2))
        loop = "the output of a loop over heads and target positions"
        agree(1e-12, {loop: by_loop, "that of the layer": layer(x, memory, memory)})


@proof
@torch.no_grad()
def one_head(plain: Any, package: Any) -> None:
    """With one head and the identity behind it, the layer computes what the reader's class does."""
    mine, theirs = plain(6, 6, 6), package(6, num_heads=1)
    for part in (theirs.query, theirs.key, theirs.value, theirs.output):
        part.bias.zero_()
    for name in ("query", "key", "value"):
        getattr(theirs, name).weight.copy_(getattr(mine, name).weight)
    theirs.output.weight.copy_(torch.eye(6))
    x, memory = torch.randn(2, 4, 6), torch.randn(2, 5, 6)  # (batch, target or source, d_model)
    real = torch.arange(5) < torch.tensor([[5], [3]])
    by_package = theirs(x, memory, memory, real[:, None, None])
    name = "that of the package's layer with one head"
    agree(1e-12, {"the output of your class": mine(x, memory, real), name: by_package})


@proof
def old_attentions(package: Any) -> None:
    """One head is Luong's attention, and with the additive score it is Bahdanau's."""
    s, h = torch.randn(2, 4, 5), torch.randn(2, 3, 5)  # target and source states
    dot, general = luong.DotAttention(), luong.GeneralAttention(5, 5)
    additive = bahdanau.AdditiveAttention(5, 5, 5)
    root = math.sqrt(5)  # undoes the scaling
    as_additive = _one_head(package, additive.key.weight, 1.0)
    as_additive.attention = additive
    for name, theirs, matrices, head in (
        ("Luong's dot", dot(s, h, h), "W_K = I", _one_head(package, torch.eye(5), root)),
        ("Luong's general", general(s, general.keys(h), h), "W_K = W_aᵀ",
         _one_head(package, general.key.weight, root)),
        ("Bahdanau's", additive(s, additive.keys(h), h), "the additive score", as_additive),
    ):  # fmt: skip
        agree(1e-12, {f"{name} attention": theirs, f"one head with {matrices}": head(s, h, h)})


@torch.no_grad()
def _one_head(package: Any, key: Float[Tensor, "d d"], factor: float) -> Any:
    """Give a head whose matrices are the identity, but for the keys and a factor of the queries."""
    head, eye = package(key.size(0), num_heads=1), torch.eye(key.size(0))
    for part, weight in (
        (head.query, factor * eye), (head.key, key), (head.value, eye), (head.output, eye)
    ):  # fmt: skip
        part.weight.copy_(weight)
        part.bias.zero_()
    return head


@proof
def what_a_position_sees(package: Any) -> None:
    """By its derivatives, a target position depends on itself and on every source word only."""
    layer = package(8, 2)
    x, memory = torch.randn(1, 3, 8), torch.randn(1, 5, 8)  # 3 target positions, 5 source words
    by_x, by_memory = jacobian(lambda x, m: layer(x, m, m), (x, memory))  # type: ignore[no-untyped-call]
    by_itself = jacobian(lambda x: layer(x, x, x), x)  # type: ignore[no-untyped-call]
    alone = torch.equal(_reach(by_x), torch.eye(3).bool())
    holds("in cross-attention, a target position depends on no other target position", alone)
    holds("it depends on every source word", _reach(by_memory).all())
    holds("in self-attention, it depends on all positions of its sentence", _reach(by_itself).all())


def _reach(derivative: Float[Tensor, "1 target d 1 source d"]) -> Bool[Tensor, "target source"]:
    """Whether any number of a position depends on any of another."""
    return derivative.abs().amax((0, 2, 3, 5)) > 0


@proof
def decoder_layer(plain: Callable[..., Tensor]) -> None:
    """A function of the parts of a decoder layer computes what the layer's own method does."""
    itself, cross = MultiHeadAttention(6, 3), MultiHeadAttention(6, 3)
    layer = DecoderLayer(itself, cross, FeedForward(6, 12), lambda: Residual(6, 0.0, "post"))
    x, memory = torch.randn(2, 4, 6), torch.randn(2, 5, 6)
    memory_kv = cross.project(memory, memory)
    mask, memory_mask = causal_mask(4), torch.arange(5).expand(2, 1, 1, 5) < 4
    theirs, _ = layer(x, itself.empty(2), mask, memory_kv, memory_mask)
    mine = plain(layer, x, memory_kv, mask, memory_mask)
    agree(1e-12, {"the output of the package's decoder layer": theirs, "that of yours": mine})


@proof
def cut_off(model: Any, cut: Any, batch: Batch) -> None:
    """Without cross-attention the decoder is blind to the source, the encoder gets no gradient."""
    other = batch.src.flip(0)[:, :5]  # of another length as well
    same, differ = (
        torch.equal(each(batch.src, batch.tgt_in), each(other, batch.tgt_in))
        for each in (cut, model)
    )
    holds("with cross-attention at zero, the logits are the same whatever the source", same)
    holds("with cross-attention, they change with the source", not differ)
    gradients = torch.autograd.grad(
        cut(batch.src, batch.tgt_in).sum(), list(cut.encoder.parameters())
    )
    silent = not any(each.any() for each in gradients)
    holds("with cross-attention at zero, no gradient reaches the encoder", silent)

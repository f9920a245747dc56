"""Weights carried between our modules and the libraries that they are compared with.

Every ``…_pairs`` below yields triples: a tensor of ours, one of the library's, and the rows of the
library's that mean the same. The library keeps queries, keys and values in one matrix, so its rows
are sometimes only a part.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

Pairs = Iterable[tuple[Tensor, Tensor, slice]]
ALL = slice(None)
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
BOTH_DTYPES = list(TOLERANCE)


@torch.no_grad()
def to_ours(pairs: Pairs) -> None:
    for ours, theirs, rows in pairs:
        ours.copy_(theirs[rows])


@torch.no_grad()
def to_theirs(pairs: Pairs) -> None:
    for ours, theirs, rows in pairs:
        theirs[rows] = ours


BOTH_WAYS = [to_ours, to_theirs]


def assert_close(ours: Tensor, theirs: Tensor, tolerance: float | None = None) -> None:
    """Absolutely close, and to the digit that the number format allows."""
    tolerance = tolerance or TOLERANCE[ours.dtype]
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=0)


def assert_same_gradients(pairs: Pairs) -> None:
    for ours, theirs, rows in pairs:
        assert ours.grad is not None
        assert theirs.grad is not None
        assert_close(ours.grad, theirs.grad[rows])


@torch.no_grad()
def randomise(module: nn.Module, std: float = 0.3) -> Any:
    """No trained parameter keeps a value such as 0 or 1 that would hide a mistake."""
    for parameter in module.parameters():
        if parameter.requires_grad:
            parameter.normal_(std=std)
    return module


def weigh(output: Tensor) -> Tensor:
    """A scalar that depends on every number of the output differently, to take gradients of."""
    return (output * torch.arange(output.numel()).view_as(output).sin()).sum()


def hidden(mask: Tensor) -> Tensor:
    """The masks of ``torch.nn`` say True where nothing may be attended to: the inverse of ours."""
    return ~mask


def own_pairs(ours: nn.Module, theirs: nn.Module) -> Pairs:
    """Weight and bias of two layers of the same kind."""
    yield ours.weight, theirs.weight, ALL
    yield ours.bias, theirs.bias, ALL


def recurrent_pairs(cell: Any, theirs: nn.RNNBase, suffix: str = "") -> Pairs:
    for linear, name in ((cell.read, "ih"), (cell.recur, "hh")):
        yield linear.weight, getattr(theirs, f"weight_{name}_l0{suffix}"), ALL
        yield linear.bias, getattr(theirs, f"bias_{name}_l0{suffix}"), ALL


def attention_pairs(ours: Any, theirs: nn.MultiheadAttention) -> Iterator[Any]:
    d_model = theirs.embed_dim
    for i, linear in enumerate((ours.query, ours.key, ours.value)):
        rows = slice(i * d_model, (i + 1) * d_model)
        yield linear.weight, theirs.in_proj_weight, rows
        yield linear.bias, theirs.in_proj_bias, rows
    yield from own_pairs(ours.output, theirs.out_proj)


def layer_pairs(ours: Any, theirs: Any) -> Iterator[Any]:
    """Of an encoder layer, or of a decoder layer, which has one sub-layer more."""
    yield from attention_pairs(ours.self_attention, theirs.self_attn)
    yield from own_pairs(ours.feed_forward.inner, theirs.linear1)
    yield from own_pairs(ours.feed_forward.outer, theirs.linear2)
    yield from own_pairs(ours.residual_1.norm, theirs.norm1)
    yield from own_pairs(ours.residual_2.norm, theirs.norm2)
    if hasattr(ours, "cross_attention"):
        yield from attention_pairs(ours.cross_attention, theirs.multihead_attn)
        yield from own_pairs(ours.residual_3.norm, theirs.norm3)


def stack_pairs(ours: Any, theirs: nn.Transformer) -> Iterator[Any]:
    """Of both stacks; torch.nn.Transformer has neither embeddings nor logits."""
    for mine, other in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        for layers in zip(mine, other.layers, strict=True):
            yield from layer_pairs(*layers)
    if ours.config.norm_position == "pre":
        yield from own_pairs(ours.encoder_norm, theirs.encoder.norm)
        yield from own_pairs(ours.decoder_norm, theirs.decoder.norm)


def marian_pairs(ours: Any, theirs: Any) -> Iterator[Any]:
    """Of a whole translation model of Hugging Face, with tied embeddings."""
    yield ours.tgt_embedding.tokens.weight, theirs.model.shared.weight, ALL
    yield ours.output.bias, theirs.final_logits_bias[0], ALL
    for mine, other in (
        (ours.encoder, theirs.model.encoder),
        (ours.decoder, theirs.model.decoder),
    ):
        for one, another in zip(mine, other.layers, strict=True):
            attentions = [(one.self_attention, another.self_attn)]
            norms = [another.self_attn_layer_norm, another.final_layer_norm]
            if hasattr(one, "cross_attention"):
                attentions.append((one.cross_attention, another.encoder_attn))
                norms.insert(1, another.encoder_attn_layer_norm)
            for attention, library in attentions:
                yield from own_pairs(attention.query, library.q_proj)
                yield from own_pairs(attention.key, library.k_proj)
                yield from own_pairs(attention.value, library.v_proj)
                yield from own_pairs(attention.output, library.out_proj)
            yield from own_pairs(one.feed_forward.inner, another.fc1)
            yield from own_pairs(one.feed_forward.outer, another.fc2)
            for i, norm in enumerate(norms, start=1):
                yield from own_pairs(getattr(one, f"residual_{i}").norm, norm)


def cell_of_torch(cell: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """The cell of the same name in torch, with the same weights: (input, state) to the next state.

    Torch keeps h and c of an LSTM apart, we keep them side by side.
    """
    theirs = getattr(nn, type(cell).__name__)(cell.read.in_features, cell.hidden_dim)
    theirs = theirs.to(cell.read.weight.dtype)
    with torch.no_grad():
        for linear, name in ((cell.read, "ih"), (cell.recur, "hh")):
            getattr(theirs, f"weight_{name}").copy_(linear.weight)
            getattr(theirs, f"bias_{name}").copy_(linear.bias)
    if isinstance(theirs, nn.LSTMCell):
        return lambda x, state: torch.cat(theirs(x, state.chunk(2, dim=-1)), dim=-1)
    return theirs

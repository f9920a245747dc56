"""PyTorch: our Transformer's weights in `nn.Transformer`, to compare the two."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.batches import Batch
from annotated_transformer.masking import causal_mask
from annotated_transformer.tokens import PAD
from annotated_transformer.transformer import Transformer


@torch.no_grad()
def differs_from_torch(
    run: Callable[[Any, Tensor, Tensor], Tensor],
    ours: Transformer,
    batch: Batch,
    additional_norm: bool = False,
) -> float:
    """Measure how far logits are from those of PyTorch's stacks, where no padding is predicted.

    ``run(ours, src, tgt_in)`` computes the logits. PyTorch's stacks end with an additional norm,
    which a post-norm model does not have; it is left out if it is not asked for.
    """
    theirs = _of_torch(ours, additional_norm)
    masks = {  # in theirs, True is hidden
        "tgt_mask": ~causal_mask(batch.tgt_in.size(1))[0, 0],
        "src_key_padding_mask": batch.src == PAD,
        "tgt_key_padding_mask": batch.tgt_in == PAD,
        "memory_key_padding_mask": batch.src == PAD,
    }
    x, y = ours.src_embedding(batch.src), ours.tgt_embedding(batch.tgt_in)
    apart = ours.output(theirs(x, y, **masks)) - run(ours, batch.src, batch.tgt_in)
    return float(apart.abs().amax(dim=-1)[batch.tgt_out != PAD].max())


def _of_torch(ours: Transformer, additional_norm: bool) -> Any:
    c = ours.config
    sizes = c.d_model, c.num_heads, c.num_layers, c.num_layers, c.d_ff
    theirs = nn.Transformer(*sizes, dropout=0.0, batch_first=True)
    for mine, its in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        for pair in zip(mine, its.layers, strict=True):
            copy_layer(*pair)
        if not additional_norm:
            its.norm = None
    return theirs


@torch.no_grad()
def copy_layer(ours: Any, theirs: Any) -> None:
    """Give a layer of PyTorch the weights of a layer of ours."""
    _copy_attention(ours.self_attention, theirs.self_attn)
    if hasattr(ours, "cross_attention"):
        _copy_attention(ours.cross_attention, theirs.multihead_attn)
        theirs.norm3.load_state_dict(ours.residual_3.norm.state_dict())
    theirs.norm1.load_state_dict(ours.residual_1.norm.state_dict())
    theirs.norm2.load_state_dict(ours.residual_2.norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())


def _copy_attention(ours: Any, theirs: Any) -> None:
    into = ours.query, ours.key, ours.value  # one matrix in theirs
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in into]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in into]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())

"""The pass of a Transformer over packed rows: a sentence sees itself, and no other in its row."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.transformer import Embedding, Transformer


def embed(
    embedding: Embedding,
    tokens: Int[Tensor, "rows length"],
    position: Int[Tensor, "rows length"],
    dtype: torch.dtype,
) -> Float[Tensor, "rows length d_model"]:
    """Embed tokens at positions of which it is known that there are such.

    The readable embedding looks, and on an accelerator waits until it has seen.
    """
    x = embedding.tokens(tokens) * embedding.scale
    x = x + embedding.positions.table[position].to(x)
    dropped: Tensor = embedding.dropout(x.to(dtype))
    return dropped


def same_pair(
    query: Int[Tensor, "rows query"], key: Int[Tensor, "rows key"]
) -> Bool[Tensor, "rows 1 query key"]:
    """Make the mask of the blocks: a token may attend to those of its own pair.

    A place of padding may attend to all, so that no softmax is empty; nobody attends to it.

    >>> same_pair(torch.tensor([[1, 1, 2, 0]]), torch.tensor([[1, 2, 2, 0]]))[0, 0].int()
    tensor([[1, 0, 0, 0],
            [1, 0, 0, 0],
            [0, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    query = query[:, None, :, None]
    return (query == key[:, None, None, :]) | (query == 0)


def packed_hidden(
    twin: Transformer,
    dtype: torch.dtype,
    src: Int[Tensor, "rows length"],
    src_pair: Int[Tensor, "rows length"],
    src_position: Int[Tensor, "rows length"],
    tgt_in: Int[Tensor, "rows length"],
    tgt_pair: Int[Tensor, "rows length"],
    tgt_position: Int[Tensor, "rows length"],
) -> Float[Tensor, "rows length d_model"]:
    """Compute the inputs of the output layer, as a twin does for a batch with padding.

    Nothing in it depends on the numbers in the tensors, so that it can be compiled as a whole.
    """
    x, mask = embed(twin.src_embedding, src, src_position, dtype), same_pair(src_pair, src_pair)
    for layer in twin.encoder:
        x = layer(x, mask)
    memory = twin.encoder_norm(x)
    y = embed(twin.tgt_embedding, tgt_in, tgt_position, dtype)
    earlier = torch.ones(2 * tgt_in.shape[1:], dtype=torch.bool, device=y.device).tril()
    mask, source = same_pair(tgt_pair, tgt_pair) & earlier, same_pair(tgt_pair, src_pair)
    decoder: Any = twin.decoder
    for layer in decoder:
        read = layer.cross_attention.project(memory, memory)
        past = layer.self_attention.empty(len(y))
        y, _ = layer(y, past, mask, read, source, tgt_position)
    hidden: Tensor = twin.decoder_norm(y)
    return hidden

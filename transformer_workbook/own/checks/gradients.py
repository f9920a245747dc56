"""Checks of gradients: what a model learns from must be as right as its output."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.masking import padding_mask
from transformer_workbook.own.checks.attention import CAUSAL, X
from transformer_workbook.own.checks.check import SRC, Check, filled, linear
from transformer_workbook.own.checks.heads import KEYS, Y, of_torch
from transformer_workbook.own.checks.layers import MEMORY, layer_of, layer_of_torch, put_in
from transformer_workbook.own.checks.losses import LOGITS, TARGET, cross_entropy_of_torch
from transformer_workbook.own.checks.soft_lookup import MASK, SCORES, weights_by_hand


def gradient(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Compute the gradient by x of the sum of squares of a function; 0 where it has no gradient."""
    x = x.clone().requires_grad_()
    function(x).square().sum().backward()  # type: ignore[no-untyped-call]
    return torch.zeros_like(x) if x.grad is None else x.grad


def _softmax_by_hand() -> Tensor:
    weights = weights_by_hand(SCORES, MASK)
    towards = 2 * weights
    return weights * (towards - (weights * towards).sum(-1, keepdim=True))


def _self_attention_of_torch(x: Tensor) -> Tensor:
    query, key, value = (
        linear(n, x, d, bias=False) for n, d in (("query", 3), ("key", 3), ("value", 5))
    )
    return F.scaled_dot_product_attention(query, key, value, attn_mask=CAUSAL)


def _encoder_of_torch(x: Tensor) -> Tensor:
    theirs = put_in(layer_of_torch(nn.TransformerEncoderLayer, "post"), "")
    return theirs(x, src_key_padding_mask=SRC == 0)[SRC != 0]


GRADIENTS = {
    "loss": Check(
        "smoothed_cross_entropy",
        "the gradient of the squared loss with smoothing=0.3 by the logits, compared with torch.nn",
        lambda m: gradient(lambda x: m.smoothed_cross_entropy(x, TARGET, 0.3), LOGITS),
        lambda: gradient(lambda x: cross_entropy_of_torch(0.3, x), LOGITS),
    ),
    "soft_lookup": Check(
        "masked_softmax",
        "the gradient by the scores of the sum of squares, where a query may attend to nothing",
        lambda m: gradient(lambda x: m.masked_softmax(x, MASK), SCORES),
        _softmax_by_hand,
    ),
    "attention": Check(
        "SelfAttention",
        "the gradient of SelfAttention(8, 3, 5) by its sentence, compared with torch.nn",
        lambda m: gradient(lambda x: filled(m.SelfAttention(8, 3, 5))(x, CAUSAL), X),
        lambda: gradient(_self_attention_of_torch, X),
    ),
    "multi_head_attention": Check(
        "MultiHeadAttention",
        "the gradient of MultiHeadAttention(8, 4) by what it attends to, compared with torch.nn",
        lambda m: gradient(lambda x: filled(m.MultiHeadAttention(8, 4))(Y, x, x, KEYS), X),
        lambda: gradient(lambda x: of_torch()(Y, x, x, key_padding_mask=~KEYS[:, 0, 0])[0], X),
    ),
    "layers": Check(
        "EncoderLayer",
        "the gradient of a post-norm EncoderLayer by what it reads, compared with torch.nn",
        lambda m: gradient(
            lambda x: layer_of(m, "EncoderLayer", "post")(x, padding_mask(SRC))[SRC != 0], MEMORY
        ),
        lambda: gradient(_encoder_of_torch, MEMORY),
    ),
}

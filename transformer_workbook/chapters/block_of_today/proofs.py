from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.gated_feed_forward import GatedFeedForward
from annotated_transformer.language_model import LanguageModelConfig
from annotated_transformer.layers import DecoderLayer
from annotated_transformer.masking import causal_mask
from annotated_transformer.rotary import rotary_frequencies, rotate
from annotated_transformer.transformer import remove_biases
from transformer_workbook.notebook.proofs import agree, holds, proof

WIDTH, HEADS, KV_HEADS, D_FF = 24, 6, 2, 20
TODAY: dict[str, Any] = {
    "norm": "rms", "norm_position": "pre", "activation": "swish", "gated": True, "bias": False,
    "num_kv_heads": KV_HEADS, "qk_norm": True, "positions": "rotary", "epsilon": 1e-6,
    "dropout": 0.0,
}  # fmt: skip


def _drawn(module: Any) -> Any:
    """Draw the parameters of a layer anew: fresh gains are all 1 and would hide a swap."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


PACKAGE = {
    "gate_proj": "gate", "up_proj": "inner", "down_proj": "outer",
    "q_proj": "query", "k_proj": "key", "v_proj": "value", "o_proj": "output",
    "q_norm": "query_norm", "k_norm": "key_norm",
    "norm_1": "residual_1.norm", "attention": "self_attention",
    "norm_2": "residual_3.norm", "network": "feed_forward",
}  # fmt: skip
"""Of the parts of a block: their published names, and the package's."""


def _for_package(layer: nn.Module) -> dict[str, Tensor]:
    """Return the parameters of a layer under the names of the package."""
    return {
        ".".join(PACKAGE.get(part, part) for part in name.split(".")): tensor
        for name, tensor in layer.state_dict().items()
    }


@proof
def rms_norm(plain: Callable[..., nn.Module]) -> None:
    """With the same gain, a class normalises as PyTorch's."""
    x, mine = torch.randn(2, 3, 5), _drawn(plain(5))
    theirs = nn.RMSNorm(5, eps=1e-6)
    theirs.load_state_dict(mine.state_dict())
    agree(1e-12, {"your class": mine(x), "nn.RMSNorm": theirs(x)})


@proof
def swiglu(plain: Callable[..., nn.Module], package: type[GatedFeedForward]) -> None:
    """Two classes compute what the sum over the hidden units is, one at a time."""
    x, mine, ours = torch.randn(2, 3, 5), _drawn(plain(5, 4)), package(5, 4)
    remove_biases(ours)
    ours.load_state_dict(kept := _for_package(mine))
    W, V, W_2 = (kept[f"{name}.weight"] for name in ("gate", "inner", "outer"))
    total = torch.zeros_like(x)
    for i in range(4):
        z = x @ W[i]
        total += (z / (1 + torch.exp(-z)) * (x @ V[i]))[..., None] * W_2[:, i]
    agree(
        1e-12, {"the sum over hidden units": total, "your class": mine(x), "the package": ours(x)}
    )


@proof
def as_large(plain: Any, gated: Any) -> None:
    """With two thirds of the width, a gated network has as many weights."""

    def weights(network: nn.Module) -> int:
        return sum(tensor.numel() for tensor in network.parameters() if tensor.dim() == 2)

    same = weights(gated(WIDTH, 8 * WIDTH // 3)) == weights(plain(WIDTH, 4 * WIDTH))
    holds("with two thirds of the width, the gated network has as many weights", same)


@proof
def attention(plain: Callable[..., nn.Module]) -> None:
    """A class computes what PyTorch's grouped attention does, one query head at a time, too."""
    x, mine = torch.randn(2, 5, WIDTH), _drawn(plain(WIDTH, HEADS, KV_HEADS, d := WIDTH // HEADS))
    kept = _for_package(mine)
    at, frequencies = torch.arange(5), rotary_frequencies(d)

    def heads(name: str) -> Float[Tensor, "batch heads time d"]:
        return torch.stack(torch.split(x @ kept[f"{name}.weight"].T, d, dim=-1), dim=1)

    query, key = (
        rotate(F.rms_norm(heads(name), (d,), kept[f"{name}_norm.weight"], 1e-6), at, frequencies)
        for name in ("query", "key")
    )
    theirs = F.scaled_dot_product_attention(
        query, key, heads("value"), is_causal=True, enable_gqa=True
    )
    expected = theirs.transpose(1, 2).flatten(2) @ kept["output.weight"].T
    agree(1e-12, {"PyTorch's grouped attention": expected, "your class": mine(x)})


@proof
def block(plain: Callable[..., nn.Module], package: type[DecoderLayer]) -> None:
    """With the same random weights, the lesson's block and the package's layer are one."""
    x, mine = torch.randn(2, 5, WIDTH), _drawn(plain(WIDTH, HEADS, KV_HEADS, D_FF))
    config = LanguageModelConfig(9, 9, WIDTH, 1, HEADS, D_FF, **TODAY)
    ours = package(config.self_attention(), None, config.feed_forward(), config.residual).double()
    remove_biases(ours)
    ours.load_state_dict(_for_package(mine))
    output, _ = ours(
        x, ours.self_attention.empty(2), causal_mask(5), positions=torch.arange(5)[None]
    )
    agree(1e-12, {"the package's layer": output, "your block": mine(x)})
